/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include <slurm/spank.h>

#include "request/components.h"

/* Which component does this slurmstepd run? There is no spank_item for it.
 *
 * Het job: every component has its own job id, and the environment of the task lists
 * them (SLURM_JOB_ID_HET_GROUP_k, or SLURM_JOB_ID_PACK_GROUP_k where srun made the
 * job). Het step in one allocation: only the name of slurmstepd's own listening socket
 * says it, SPOOLDIR/NODE_JOB.STEP.COMPONENT (_domain_socket_create() in slurmstepd's
 * req.c). */
struct berth_where berth_stepd_where(spank_t sp);

/* The component in the name of a slurmstepd socket for JOB and STEP: its last number;
 * -1 when it has none, or is not such a name. For tests too. */
int berth_stepd_position(const char *path, uint32_t job, uint32_t step);

/* Where the slurmstepds of this node listen, each at DIRECTORY/NODE_JOB.STEP. */
struct berth_stepd_place {
    char directory[108]; /* as long as sun_path */
    char node[108];
};

/* As the socket of this slurmstepd tells it. Returns 0, or -1 if it does not. */
int berth_stepd_place(uint32_t job, uint32_t step, struct berth_stepd_place *ret);
