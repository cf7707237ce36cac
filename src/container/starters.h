/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "container/processes.h"

/* Does PROCESS start ranks: is it an mpirun, by its name (mpi/names.h), that has
 * started another program? `mpirun --version` has not. */
bool berth_starters_has(const struct berth_process *process);

/* Find the first such process among PID and its descendants. Returns whether there is
 * one, which is in *RET. */
bool berth_starters_find(pid_t pid, struct berth_process *ret);
