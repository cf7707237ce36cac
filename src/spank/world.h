/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "request/components.h"
#include "commandline/hetgroup.h"

/* In srun, before variables of an outer step are forgotten. */
void berth_world_begin(void);

/* In srun: can the components that TABLE has so far, with `srun A : B`, be one
 * MPI_COMM_WORLD? Called after the options of each component, with getopt's OPTIND.
 * Returns 0, or -1 with a sentence in ERR: heterogeneous steps of one allocation hang
 * in MPI_Init with --mpi=pmi2 in every release of Slurm (pmi2_setup_srun() in its
 * mpi/pmi2/setup.c sets everything up once for each component); and a program in an
 * image that has Slurm spawn others would have them on the host. */
int berth_world_check(const struct berth_table *table,
                      const struct berth_hetgroups *hetgroups, int optind,
                      struct berth_err *err);
