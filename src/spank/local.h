/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <slurm/spank.h>

/* The plugin in srun, sbatch and salloc: the user's own process, before anything runs.
 * A fault here ends the command (exit status 1) with one line, and costs no allocation.
 */

/* In slurm_spank_init(): register the options and forget what an outer step published.
 */
int berth_local_init(spank_t sp, int count, char **words);

/* In srun's slurm_spank_init_post_opt(), which ends each component (each het group of
 * each spec): keep what the component asked for and publish the table so far. */
int berth_local_step(void);

/* The same in sbatch and salloc: publish the default of the sruns inside. */
int berth_local_job(spank_t sp);

/* In slurm_spank_local_user_init(): once for each srun, with its argv known. Puts
 * berth-task into a --multi-prog configuration on releases before 23.11. */
int berth_local_launch(spank_t sp);
