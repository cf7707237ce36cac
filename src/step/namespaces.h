/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_STEP_NAMESPACES_H
#define BERTH_STEP_NAMESPACES_H

#include <stdbool.h>
#include <sys/types.h>

#include "mpi/reach.h"

/* Is the namespace NAME (user, pid, ... as in /proc/PID/ns) of process PID another than
 * ours? What cannot be seen is the same. */
bool berth_namespaces_differ(pid_t pid, const char *name);

/* What the container of process HOLDER has for itself, and this process has not; the
 * rest of *REACH stays. */
void berth_namespaces_look(pid_t holder, struct berth_mpi_reach *reach);

/* Does the server of PMIx, which the variables TASK name, keep what it knows in files
 * that processes in that container do not see? (Slurm's mpi/pmix: pmixp_info.c; PMIx 5
 * and later: gds/shmem2.) */
bool berth_namespaces_hide_pmix(pid_t holder, char *const *task);

#endif
