/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_PLAN_LAUNCHER_H
#define BERTH_PLAN_LAUNCHER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "plan/components.h"
#include "plan/request.h"

/* For --mpi-bind=local and local-each, where the command is (or comes to) an mpirun of
 * the image, which must take this node and this task's CPUs for its whole world. */

/* OWN, the environment of the task ended by NULL, without what tells an mpirun or its
 * ranks of Slurm, of another mpirun, or of a process manager; and with what an Open MPI
 * is to take for the task's CPUs, where OWN does not say it. Appends to RET. Returns 0,
 * or -1 when out of memory. */
int berth_launcher_environment(const struct berth_request *request, char *const *own,
                               struct berth_strvec *ret, struct berth_err *err);

/* The descriptor of Slurm's process manager that OWN names (--mpi=pmi2); -1: none. */
int berth_launcher_descriptor(char *const *own);

/* Is TASKS, of one component, more than `local` has a use for? Returns 0, or -1 with a
 * sentence in ERR. */
int berth_launcher_check_tasks(const struct berth_request *request, unsigned long tasks,
                               struct berth_err *err);

/* Would COMMAND, in each of TASKS, be an mpirun beside the srun that has started the
 * ranks? It cannot find its way out of the image, and would wait for ever. Returns 0,
 * or -1 with a sentence in ERR. */
int berth_launcher_check_command(const struct berth_request *request,
                                 unsigned long tasks, const char *command,
                                 struct berth_err *err);

/* Does Slurm start the OCI bundle BUNDLE (its own --container; NULL or "": none) for
 * the component? It takes the command before plugins can put a word in front, so that
 * the image would not run. Returns 0, or -1 with a sentence in ERR. */
int berth_launcher_check_bundle(const struct berth_request *request, const char *bundle,
                                struct berth_err *err);

/* Slurm makes one MPI_COMM_WORLD of all components, and a rank waits in it for those
 * that never come, because their mpirun has a world of its own, or because they speak
 * with another MPI library. Refuses modes that come to that for certain. SITE_SAYS: a
 * component without a mode may get one of the site's. Returns 0, or -1 with a sentence
 * in ERR. */
int berth_launcher_check_table(const struct berth_table *table, bool site_says,
                               struct berth_err *err);

/* No node sees what another one chooses. So where there are several components, tell
 * those with `auto` here what it may choose (enum berth_world). */
void berth_launcher_settle(struct berth_table *table);

/* Does a component of TABLE, by its --mpi-bind, take part in that world? */
bool berth_launcher_shares_world(const struct berth_table *table);

/* Can several components be one step with --mpi=TYPE (NULL: not known)? Returns 0, or
 * -1 with a sentence in ERR. */
int berth_launcher_check_step(const char *type, struct berth_err *err);

#endif
