/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "plan/launch.h"
#include "supervise/inject.h"

/* Without --mpi-bind nothing is known of the MPI of a step. If that does not speak what
 * srun --mpi= serves, each task is rank 0 of 1 (a singleton, MPI 4.1, 11.2.1), or
 * hangs. So a process looks at what the tasks have mapped, and has berth-mpi judge the
 * first MPI that it sees (bind/singleton.h). It holds up nobody, and changes nothing.
 * Each component has one such process, on its first node: ranks of one component load
 * the same. With --multi-prog each container has one. `berth run` has none: with an
 * mpirun in front of it, SLURM_NTASKS is not about its ranks. */

struct berth_singletons {
    const struct berth_launch *launch;
    pid_t holder;    /* of the container that tasks share */
    pid_t parent;    /* of the tasks */
    int task_stderr; /* standard error of a task */
};

/* Is that of use here: a step of several tasks, and nothing task_stderr about MPI? */
bool berth_singletons_wanted(const struct berth_launch *launch);

/* Starts it. It ends when RET's END is closed, if not before. {0}: there is none. */
void berth_singletons_watch(const struct berth_singletons *singletons,
                            struct berth_inject_witness *ret);

/* Is NAME that of a C library of MPI, as far as a name tells? */
bool berth_singletons_is_library(const char *name);

/* Does a program of this name start ranks itself, or only tell about its MPI? */
bool berth_singletons_is_tool(const char *name);
