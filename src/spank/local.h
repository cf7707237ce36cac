/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <slurm/spank.h>

/* The plugin in srun, sbatch and salloc, which run as the user, before Slurm allocates
 * anything. A fault ends the command with one line and exit status 1. Each function
 * returns 0; berth_local_init() returns -1 if Slurm refuses an option. */

/* In slurm_spank_init(): register the options, and unset the variables of an outer
 * step. COUNT and WORDS are the plugin's words in plugstack.conf. */
int berth_local_init(spank_t sp, int count, char **words);

/* In slurm_spank_init_post_opt() of srun, which Slurm calls after the options of each
 * component (each het group of each spec): add the request of the component to the
 * table, and publish the table. */
int berth_local_step(void);

/* The same in sbatch and salloc: publish the default for the sruns of the job. */
int berth_local_job(spank_t sp);

/* In slurm_spank_local_user_init(), which Slurm calls once for each srun when the job
 * exists: print notes, and set the comment of the job. Before Slurm 23.11, put
 * berth-task into a --multi-prog configuration, too. */
int berth_local_launch(spank_t sp);
