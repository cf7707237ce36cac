/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

/* SLURM_STEP_ID in the environment of the server of a job, as sacct(1) has it. */
#define BERTH_JOB_STEP "extern"

/* The address of the server of JOB, a job of user UID, on the node NODE, in the
 * abstract namespace (unix(7)); NODE is Slurm's name of the node (SLURMD_NODENAME), as
 * several nodes may be on one host. Anyone can bind such a name: who connects has to
 * look whose process answers. Returns 0, or -1 where NODE is empty or too long. */
int berth_job_address(uid_t uid, uint32_t job, const char *node,
                      struct sockaddr_un *ret, socklen_t *ret_length);
