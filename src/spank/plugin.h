/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <slurm/spank.h>

/* The plugin in srun, sbatch and salloc, which run as the user, before Slurm allocates
 * anything. An error ends the command with one line and exit status 1. Each function
 * returns 0; berth_local_init() returns -1 if Slurm refuses an option. */

/* In slurm_spank_init(): register the options, and unset the variables of an outer
 * step. COUNT and ARGUMENTS are those of the plugin in plugstack.conf. */
int berth_local_init(spank_t sp, int count, char **arguments);

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

/* In slurm_spank_exit() of srun, when all tasks have ended and their output has been
 * written: print what berth_local_launch() has srun collect. */
void berth_local_end(void);

/* The plugin in slurmstepd. Only berth_remote_task() reports errors: if an earlier
 * callback fails, Slurm drains the node or ignores the failure, which differs by
 * release. Each function returns 0. */

/* In slurm_spank_init(), as root: read the COUNT ARGUMENTS of plugstack.conf for
 * all calls, and register the options; without that slurmd logs that
 * it does not know them. */
int berth_remote_init(spank_t sp, int count, char **arguments);

/* In slurm_spank_init_post_opt(), as root, once per node and step: open the
 * descriptors that the tasks share. Later is too late: with
 * SlurmdParameters=contain_spank (Slurm 24.05) Slurm makes the later calls in a child,
 * which shares memory with slurmstepd but not descriptors. */
int berth_remote_open(spank_t sp);

/* In slurm_spank_user_init(), once per node and step: read berth.yaml, find the
 * component, and write the site's limits into the rendezvous. */
int berth_remote_step(spank_t sp);

/* In slurm_spank_task_post_fork(), as root, once for each task: at the first task,
 * start the job's server if the job may keep containers. */
int berth_remote_forked(spank_t sp);

/* In slurm_spank_task_exit(), once for each task: after the last task, let the
 * containers end. Reports a container that ended before its tasks, and what a task that
 * ended with 127 may lack. */
int berth_remote_task_exit(spank_t sp);

/* In slurm_spank_task_init(), as the user, in the process that becomes the task: write
 * the order, and put berth-task before the command. On an error, print a sentence
 * and end this process with status 1, also if plugstack.conf says `optional`. */
int berth_remote_task(spank_t sp);
