/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the processes of a task that start ranks themselves. Knows nothing of steps. */

#include "container/starters.h"

#include "mpi/names.h"

/* An mpirun that is a script has another mpirun as its child, which starts the ranks.
 */
static bool is_started(const struct berth_process *process, void *data)
{
    (void)data;
    return !berth_mpi_is_starter(process->name);
}

bool berth_starters_has(const struct berth_process *process)
{
    return berth_mpi_is_starter(process->name) &&
           berth_process_each_child(process->pid, is_started, NULL) > 0;
}

struct search {
    struct berth_process process;
    bool is_found;
};

/* Returns whether to go on. */
static bool read_one(pid_t pid, void *data)
{
    struct search *search = data;

    search->is_found = berth_process_read(pid, &search->process) &&
                       berth_starters_has(&search->process);
    return !search->is_found;
}

bool berth_starters_find(pid_t pid, struct berth_process *ret)
{
    struct search search = {.is_found = false};

    berth_process_each_below(pid, read_one, &search);
    if (search.is_found)
        *ret = search.process;
    return search.is_found;
}
