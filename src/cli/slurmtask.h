/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* The task that this process is, as Slurm's variables describe it (srun(1), OUTPUT
 * ENVIRONMENT VARIABLES): for programs that do not get it from the plugin. The user can
 * set these variables, so nothing here is a boundary between users. No result is to be
 * freed. */

/* The name of this node, for messages; "this host" outside of a step. */
const char *berth_slurmtask_node(void);

/* Is it the first task of a step on this node, or not a task of a step? */
bool berth_slurmtask_is_first_on_node(void);

/* Is it a task of a step that srun has started, and not a rank of an mpirun there? A
 * batch script and the shell of salloc are not. */
bool berth_slurmtask_is_in_step(void);

/* The rank of this process in the step; 0: not known. */
unsigned int berth_slurmtask_rank(void);

/* Has an mpirun given this process a rank? */
bool berth_slurmtask_has_mpirun_rank(void);

/* Is it on the first node of the step, or not known to be on another one? */
bool berth_slurmtask_is_on_first_node(void);

/* Is it the first rank of an mpirun or of srun, or a process without a rank? */
bool berth_slurmtask_is_first_rank(void);

/* The number of nodes and of tasks of the step; 0: not known. Slurm counts all
 * components of a step. */
unsigned int berth_slurmtask_nodes(void);
unsigned int berth_slurmtask_tasks(void);

/* The number of the job; 0: there is none. */
unsigned int berth_slurmtask_job(void);

/* Has the step of this task several components? */
bool berth_slurmtask_has_components(void);

/* The het group of this task's component, whose slurmstepd is on this host; -1: the
 * task is not in a het job. */
int berth_slurmtask_group(void);
