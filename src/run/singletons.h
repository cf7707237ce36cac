/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "plan/launch.h"
#include "run/binder.h"

/* Finds steps of singletons, and those in which several tasks start an mpirun. Without
 * the host's MPI in the container (no --mpi-bind, or hybrid, or auto that found none),
 * berth does not know the MPI of a step. If that MPI does not support the process
 * manager of srun --mpi=, each task is rank 0 of 1 (a singleton, MPI 4.1, 11.2.1), or
 * hangs. So a process reads which files the tasks have mapped, and berth-mpi judges the
 * first MPI that it finds (bindover/singleton.h). An mpirun that a script starts in two
 * tasks of the node is named: each makes an MPI_COMM_WORLD of its own. No task waits
 * for that. Each component has one such process, on its first node, because ranks of
 * one component load the same MPI. With
 * --multi-prog each container has one. `berth run` has none: under an mpirun,
 * SLURM_NTASKS is not the number of its ranks. */

/* Is such a process of use for LAUNCH, if nothing of the host is in its container: a
 * step of several tasks whose ranks srun starts, on the node that prints for its
 * component?
 */
bool berth_singletons_wanted(const struct berth_launch *launch);

/* Start the process for the container of BINDER; holder 0: each task has its own.
 * NO_CMA: why ranks of this node do not read each other's memory, to be printed when a
 * task loads an MPI; NULL: print nothing. The process ends when the caller closes the
 * END of *RET, or before. *RET stays as it is if there is no process. */
void berth_singletons_watch(const struct berth_binder *binder, const char *no_cma,
                            struct berth_binder_witness *ret);

/* Returns what would go wrong with the image's own MPI in the container of BINDER, for
 * the explanation of a step without --mpi-bind, which runs nothing that could be
 * watched: a sentence that the caller frees. NULL: nothing that is known. */
char *berth_singletons_forecast(const struct berth_binder *binder);

/* Is NAME a program that starts ranks itself, or that prints the version of its MPI? */
bool berth_singletons_is_tool(const char *name);
