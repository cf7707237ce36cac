/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "request/components.h"
#include "request/request.h"

/* Checks of --mpi-bind between components, and the environment of an mpirun of the
 * image. With --mpi-bind=local and local-each the mpirun may use this node and the CPUs
 * of its task; with launch, the nodes of the job. */

/* The beginning of Slurm's variables, and of those that berth in srun sends to nodes.
 */
#define BERTH_LAUNCHER_JOB  "SLURM_"
#define BERTH_LAUNCHER_OURS "SLURM_BERTH_"

/* Appends the environment of an mpirun to RET: TASK_ENV, the task's environment (ended
 * by NULL), without the variables by which an mpirun or its ranks find Slurm, another
 * mpirun or a process manager, and with variables that tell Open MPI its CPUs, unless
 * TASK_ENV has them. With launch, Slurm's variables stay; those in JOB, if JOB has any,
 * replace them. HAS_TEMPORARY: the container has the directory TMPDIR. Returns -1 out
 * of memory. */
int berth_mpirun_environment(const struct berth_request *request, char *const *task_env,
                             const struct berth_strvec *job, bool has_temporary,
                             struct berth_strvec *ret, struct berth_err *err);

/* Appends to RET the variables of the job in TASK_ENV, the environment of srun, if the
 * mode of REQUEST is launch. In the task, these variables describe the step of one
 * task. The caller checks RET's `failed`. */
void berth_mpirun_job(const struct berth_request *request, char *const *task_env,
                      struct berth_strvec *ret);

/* Refuses `launch` outside a job. JOB is SLURM_JOB_ID, or NULL. */
int berth_mpirun_check_job(const struct berth_request *request, const char *job,
                           struct berth_err *err);

/* The descriptor of Slurm's process manager that PMI_FD in TASK_ENV names (--mpi=pmi2);
 * -1: none. */
int berth_mpirun_descriptor(char *const *task_env);

/* Refuses `local` and `launch` for more than one task. TASKS is the number of tasks of
 * a component, or of a line of a --multi-prog file; 0: not known. */
int berth_mpirun_check_tasks(const struct berth_request *request, unsigned long tasks,
                             struct berth_err *err);

/* Refuses an mpirun as COMMAND of several TASKS with a mode in which srun starts the
 * ranks. The mpirun would not find srun in the image, and would wait forever. */
int berth_mpirun_check_command(const struct berth_request *request, unsigned long tasks,
                               const char *command, struct berth_err *err);

/* Warns of an mpirun as COMMAND of several TASKS without --mpi-bind: each would start
 * all ranks, which somebody may want. Sets RET if so. */
bool berth_mpirun_is_repeated(const struct berth_request *request, unsigned long tasks,
                              const char *command, struct berth_err *ret);

/* Sets RET to the sentence about tasks WHO ("rank 1 starts") that start MPIRUN in a
 * script, which was not seen before the step. */
void berth_mpirun_describe_worlds(const char *who, const char *mpirun,
                                  struct berth_err *ret);

/* Is an mpirun the COMMAND of the only task, without --mpi-bind? It has the slots that
 * Slurm's variables about this step tell: one. */
bool berth_mpirun_is_alone(const struct berth_request *request, unsigned long tasks,
                           const char *command);

/* Refuses an image beside the OCI bundle BUNDLE (Slurm's --container; NULL or "":
 * none). Slurm reads the command before plugins can put a word in front, so that the
 * image would not run. */
int berth_mpirun_check_bundle(const struct berth_request *request, const char *bundle,
                              struct berth_err *err);

/* Refuses modes with which ranks certainly wait for each other forever. Slurm makes
 * one MPI_COMM_WORLD of all components, and of all lines of a --multi-prog file. Ranks
 * that an mpirun starts, or that use another MPI library, never join that world.
 * SITE_SAYS: the site may set the mode of a row without one. */
int berth_mpirun_check_table(const struct berth_table *table, bool site_says,
                             struct berth_err *err);

/* Sets the `world` of each request in TABLE, which limits what `auto` may choose. The
 * tasks of a container do not see the choice of those in another container or on
 * another node. */
void berth_mpirun_set_worlds(struct berth_table *table);

/* Refuses --mpi=TYPE (NULL: not known) with which the components of a het step hang.
 * SOURCE is for the message: " (SLURM_MPI_TYPE)", or "" if the user typed the option.
 */
int berth_mpirun_check_mpi_type(const char *type, const char *source,
                                struct berth_err *err);
