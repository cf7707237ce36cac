/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether an MPI in a container reaches the other tasks of its step. MPICH,
 * Open MPI and UCX name the shared memory of a node by process numbers, send these to
 * each other, and open each other's files in /dev/shm. */

#include "mpi/reach.h"

#include "mpi/pmi.h"

static int refuse(const struct berth_mpi_reach *reach, const char *what,
                  const char *flags, const char *whose, struct berth_err *err)
{
    berth_err_set(
        err,
        "%s gives each of the %u tasks of this node %s of its own, so that %s "
        "cannot connect them; remove the flag",
        flags, reach->separate, what, whose);
    return berth_err_mark(err, BERTH_ERR_OPTION);
}

int berth_mpi_check_reach(const struct berth_mpi_reach *reach, unsigned int managers,
                          const char *whose, struct berth_err *err)
{
    /* PMIx speaks TCP even on one node. */
    bool needs_network = reach->nodes > 1 || (managers & BERTH_PMI_PMIX);

    if (reach->network && needs_network)
        return berth_err_set(err,
                             "the container has a network of its own, from which %s "
                             "reaches neither Slurm nor another node; leave out --net "
                             "and --network",
                             whose);
    if (reach->separate <= 1)
        return 0;
    if (reach->pid)
        return refuse(reach, "process numbers", "--pid (or --containall)", whose, err);
    if (reach->ipc)
        return refuse(reach, "System V IPC", "--ipc (or --containall)", whose, err);
    if (reach->shm)
        return refuse(reach, "a /dev/shm", "--contain", whose, err);
    return 0;
}
