/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/strvec.h"
#include "mpi/objects.h"

/* The process managers from which an MPI library learns who its peers are. */
enum berth_mpi_manager {
    BERTH_PMI_SIMPLE = 1, /* PMI 1 or 2, over the descriptor PMI_FD: srun --mpi=pmi2 */
    BERTH_PMI_PMIX = 2,   /* PMIx: srun --mpi=pmix */
    BERTH_PMI_SLURM = 4,  /* libpmi or libpmi2 of Slurm, which reach --mpi=pmi2 */
    BERTH_PMI_CRAY = 8,   /* Cray's libpmi and PALS: srun --mpi=cray_shasta */
};

/* Appends to RET the types of srun --mpi that serve MANAGERS, such bits. Out of memory
 * sticks in RET. */
void berth_mpi_manager_types(unsigned int managers, struct berth_strvec *ret);

/* The process managers that the MPI of FAMILY among OBJECTS supports, as bits; 0: not
 * known. OBJECTS should have the components mca_pmix_*.so of Open MPI up to 4. */
unsigned int berth_mpi_managers(const struct berth_mpi_objects *objects,
                                enum berth_mpi_family family);

/* Checks whether TASKS tasks find each other if srun runs them with --mpi=TYPE
 * (SLURM_MPI_TYPE; NULL: not set) on an MPI that supports MANAGERS. A single task
 * passes; so do managers and types that berth does not know (a site's own). HET_STEP is
 * as in mpi/reach.h. WHOSE is for people: "the host's MPICH 4.2.3". Returns 0, or -1
 * with a sentence in ERR that names the type to use. */
int berth_mpi_check_manager(unsigned int managers, const char *type, unsigned int tasks,
                            bool het_step, const char *whose, struct berth_err *err);

/* The variables by which a library finds its process manager, ended by NULL. A process
 * manager sets one of them. */
extern const char *const berth_mpi_contacts[];

/* The same check if the runtime removes LOST, one of these variables (NULL: none). */
int berth_mpi_check_contact(const char *lost, unsigned int tasks, const char *whose,
                            struct berth_err *err);
