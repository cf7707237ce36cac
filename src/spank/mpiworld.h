/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "request/components.h"
#include "request/hetgroup.h"
#include "request/mistakes.h"
#include "site/site.h"

/* In srun, before berth_variable_unset_all(): record whether Slurm starts this srun for
 * MPI_Comm_spawn() of a program in an image. */
void berth_mpiworld_init(void);

/* In srun, after the options of each component, with getopt's OPTIND: check that the
 * components in TABLE can be one MPI_COMM_WORLD. Returns 0, or -1 with a sentence in
 * ERR in two cases. With --mpi=pmi2 a heterogeneous step of one allocation hangs in
 * MPI_Init in every release of Slurm (pmi2_setup_srun() in its mpi/pmi2/setup.c makes a
 * server for each component). And Slurm would start the children of MPI_Comm_spawn() on
 * the host. */
int berth_mpiworld_check(const struct berth_table *table,
                         const struct berth_hetgroups *hetgroups, int optind,
                         struct berth_err *err);

/* Refuses REQUEST if steps are to share what they write in the container of their job,
 * and slurm.conf says that jobs have no extern step, which keeps it. Returns 0 if
 * slurmctld does not answer: the node then prints a note. */
int berth_mpiworld_check_lifetime(const struct berth_request *request,
                                  struct berth_err *err);

/* In srun, before it reads its options: do the command line of TYPED (`line` and
 * `prefix`) and the environment ask for an image in any component? */
bool berth_mpiworld_has_image(const struct berth_typed *typed);

/* The same: should --kill-on-bad-exit be the default? Yes for components, lines of
 * --multi-prog, and nodes of one MPI_COMM_WORLD, if such a step is asked for, or if
 * SITE may make it one: when one of them cannot start, the others would wait for it in
 * MPI_Init. SITE is NULL for a step without an image. */
bool berth_mpiworld_ends_together(const struct berth_typed *typed,
                                  const struct berth_site *site);
