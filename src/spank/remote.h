/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <slurm/spank.h>

/* The plugin in slurmstepd. Only berth_remote_task() can refuse, because a fault in any
 * callback before it drains the node or is lost (Slurm's behaviour differs by release).
 */

/* In slurm_spank_init(), as root: register the options, or slurmd logs that it does not
 * know them. */
int berth_remote_init(spank_t sp, int count, char **words);

/* In slurm_spank_init_post_opt(), as root, once for each node and step: the descriptors
 * that its tasks share. With SlurmdParameters=contain_spank (Slurm 24.05) Slurm calls
 * what comes later in slurmstepd in a child that shares its memory only. */
int berth_remote_open(spank_t sp);

/* In slurm_spank_user_init(), later: writes the number of tasks and the limits for the
 * tasks to read. */
int berth_remote_step(spank_t sp, int count, char **words);

/* In slurm_spank_task_post_fork(), as root, once for each task: with the first one a
 * job whose containers may stay gets a server. */
int berth_remote_forked(spank_t sp);

/* In slurm_spank_task_exit(), in slurmstepd, once for each task: the container ends
 * with the last one. */
int berth_remote_task_exit(spank_t sp);

/* In slurm_spank_task_init(), as the user, in the process that becomes the task: find
 * the component's row and put berth-task in front of the command. On a fault it says
 * why and ends this process (exit status 1), also where plugstack.conf says `optional`.
 */
int berth_remote_task(spank_t sp, int count, char **words);
