/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"
#include "plan/launch.h"

/* The container that stays for a job, as its own launch: what belongs to one step is
 * not in it. Start with `= {0}`, end with berth_job_launch_fini(). */
struct berth_job_launch {
    struct berth_launch launch;
    struct berth_request request; /* borrows the step's but for mpi and explain */
    struct berth_strvec fabric;
};

/* From the launch of a step, which RET borrows. The host's MPI is bound in each step's
 * own copy of the mounts. Directories that Slurm makes for a step, for its process
 * manager, are seen through the directory in which it makes them. */
int berth_job_launch_from(const struct berth_launch *step, struct berth_job_launch *ret,
                          struct berth_err *err);

void berth_job_launch_fini(struct berth_job_launch *launch);

/* Appends what makes this container another than others of the job, but for the
 * variables of job/variables.h and the working directory: the words of the runtime, the
 * files that they name (device, inode, size and time of change), those that flags and
 * variables of the runtime name from the working directory, the user's home, and the
 * release of berth. */
int berth_job_key(const struct berth_job_launch *launch, struct berth_buf *ret,
                  struct berth_err *err);
