/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <slurm/spank.h>

#include "request/components.h"

/* Returns which component this slurmstepd runs, for which SPANK has no item; -1 in
 * `group` and `position` if it has only one.
 *
 * In a het job each component has its own job id, and the environment of the task lists
 * them: SLURM_JOB_ID_HET_GROUP_k, or SLURM_JOB_ID_PACK_GROUP_k if srun made the job. In
 * a het step of one allocation only the name of slurmstepd's listening socket has the
 * component: SPOOLDIR/NODE_JOB.STEP.COMPONENT (_domain_socket_create() in slurmstepd's
 * req.c). */
struct berth_where berth_stepd_where(spank_t sp);

/* The parts of the name of a slurmstepd's socket: DIRECTORY/NODE_JOB.STEP.COMPONENT. */
struct berth_stepd_place {
    char directory[108]; /* as long as sun_path */
    char node[108];
    int position; /* the component; -1: the name has none */
};

/* Is PATH such a name for JOB and STEP? Public for a test. */
bool berth_stepd_read(const char *path, uint32_t job, uint32_t step,
                      struct berth_stepd_place *ret);

/* Find the name of this slurmstepd's own socket, for JOB and STEP. Returns false if it
 * has no such socket. */
bool berth_stepd_place(uint32_t job, uint32_t step, struct berth_stepd_place *ret);

/* Make room for the descriptors of TASKS tasks in the table of this process, all at
 * once, before Slurm opens them: three pipes for each task. A process with threads
 * waits about 15 ms each time that its table grows (synchronize_rcu() in fs/file.c of
 * Linux), and the table of slurmstepd would grow in steps: to 128, 256, 512, ...
 * entries. */
void berth_stepd_reserve(unsigned int tasks);
