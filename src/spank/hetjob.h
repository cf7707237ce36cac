/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The variables by which a node learns the job, partition and account of its component
 * of a het job (site/rules.h). A srun that makes the job sets those that are missing;
 * in the job of sbatch or salloc they are a part of the environment, like any other
 * variable of the user's. */

/* In a srun that makes its job: unset what an earlier job, or the user, has left. */
void berth_hetjob_forget(void);

/* In a srun in a het job, before it starts the step: set them to what slurmctld says,
 * once. If it does not answer, they stay. */
void berth_hetjob_tell(void);
