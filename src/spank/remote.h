/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <slurm/spank.h>

/* The plugin in slurmstepd. Only berth_remote_task() reports faults: if an earlier
 * callback fails, Slurm drains the node or ignores the failure, which differs by
 * release. Each function returns 0. COUNT and WORDS are the plugin's words in
 * plugstack.conf. */

/* In slurm_spank_init(), as root: register the options; without that slurmd logs that
 * it does not know them. */
int berth_remote_init(spank_t sp, int count, char **words);

/* In slurm_spank_init_post_opt(), as root, once for each node and step: open the
 * descriptors that the tasks share. Later is too late: with
 * SlurmdParameters=contain_spank (Slurm 24.05) Slurm makes the later calls in a child,
 * which shares memory with slurmstepd but not descriptors. */
int berth_remote_open(spank_t sp);

/* In slurm_spank_user_init(), once for each node and step: read berth.yaml, find the
 * component, and write the site's limits into the rendezvous. */
int berth_remote_step(spank_t sp, int count, char **words);

/* In slurm_spank_task_post_fork(), as root, once for each task: at the first task,
 * start the job's server if the job may keep containers. */
int berth_remote_forked(spank_t sp);

/* In slurm_spank_task_exit(), once for each task: after the last task, let the
 * containers end. Reports a container that ended before its tasks, and what a task that
 * ended with 127 may lack. */
int berth_remote_task_exit(spank_t sp, int count, char **words);

/* In slurm_spank_task_init(), as the user, in the process that becomes the task: write
 * the order, and put berth-task in front of the command. On a fault, print a sentence
 * and end this process with status 1, also if plugstack.conf says `optional`. */
int berth_remote_task(spank_t sp, int count, char **words);
