/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "request/components.h"
#include "request/request.h"

/* For --mpi-bind=local, local-each and launch, where the command is (or comes to) an
 * mpirun of the image. With the first two it must take this node and this task's CPUs
 * for its whole world, with launch the nodes of the job. */

/* What Slurm's variables start with, and those between berth in srun and on nodes. */
#define BERTH_LAUNCHER_JOB  "SLURM_"
#define BERTH_LAUNCHER_OURS "SLURM_BERTH_"

/* Appends to RET the task's environment OWN (ended by NULL) without the variables that
 * tell an mpirun or its ranks about Slurm, another mpirun or a process manager; and
 * with variables that give Open MPI the task's CPUs, unless OWN has them. With launch
 * Slurm's variables stay, but those of JOB are in their place where it has any. */
int berth_launcher_environment(const struct berth_request *request, char *const *own,
                               const struct berth_strvec *job, struct berth_strvec *ret,
                               struct berth_err *err);

/* For that, in srun: appends to RET what OWN, its environment, says of the job, if
 * REQUEST is launch. In the task Slurm describes the step of one task. */
void berth_launcher_job(const struct berth_request *request, char *const *own,
                        struct berth_strvec *ret);

/* Is there a JOB (SLURM_JOB_ID; NULL: no) whose nodes `launch` can have? */
int berth_launcher_check_job(const struct berth_request *request, const char *job,
                             struct berth_err *err);

/* The descriptor of Slurm's process manager that OWN names (--mpi=pmi2); -1: none. */
int berth_launcher_descriptor(char *const *own);

/* Checks TASKS, the number of tasks of one component, or of one line of a --multi-prog
 * file: `local` and `launch` are for one. */
int berth_launcher_check_tasks(const struct berth_request *request, unsigned long tasks,
                               struct berth_err *err);

/* Does COMMAND start ranks, as far as its name tells? */
bool berth_launcher_is_mpirun(const char *command);

/* Checks that COMMAND, in each of TASKS, is not an mpirun, since srun starts the ranks.
 * An mpirun in the image does not find srun, and would wait for ever. */
int berth_launcher_check_command(const struct berth_request *request,
                                 unsigned long tasks, const char *command,
                                 struct berth_err *err);

/* Does Slurm start the OCI bundle BUNDLE (its own --container; NULL or "": none) for
 * the component? It takes the command before plugins can put a word in front, so that
 * the image would not run. */
int berth_launcher_check_bundle(const struct berth_request *request, const char *bundle,
                                struct berth_err *err);

/* Slurm makes one MPI_COMM_WORLD of all components, and of all lines of a --multi-prog
 * file. A rank waits there for ranks that never come, because their mpirun has made a
 * world of its own, or because they use another MPI library. Refuses modes that
 * certainly lead to that. SITE_SAYS: a row without a mode may get one of the site's. */
int berth_launcher_check_table(const struct berth_table *table, bool site_says,
                               struct berth_err *err);

/* Nobody sees what the tasks of another node or container choose. So with several
 * components, or lines with several containers, this sets, in requests with `auto`,
 * what that may choose (enum berth_world). */
void berth_launcher_set_worlds(struct berth_table *table);

/* May a component of TABLE with an image take part in that world, with --mpi-bind or
 * without it? */
bool berth_launcher_may_share_world(const struct berth_table *table);

/* Can several components be one step with --mpi=TYPE (NULL: not known)? SOURCE is for
 * people: " (SLURM_MPI_TYPE)", or "" where the option was typed. */
int berth_launcher_check_mpi_type(const char *type, const char *source,
                                  struct berth_err *err);
