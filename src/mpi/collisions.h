/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_MPI_COLLISIONS_H
#define BERTH_MPI_COLLISIONS_H

#include "mpi/objects.h"

/* One process has one library of a SONAME, the first that is mapped. Where the host's
 * MPI and the image both bring one, this is whose it is to be. */
struct berth_mpi_choice {
    const struct berth_mpi_object *host;
    const struct berth_mpi_object *image;
    bool from_host;    /* false: the host's is left out */
    bool image_serves; /* has all versions that the host's MPI wants of it */
    const char *because;
};

struct berth_mpi_choices {
    struct berth_mpi_choice *items;
    size_t count;
    size_t room;
};

/* Choose for every library of HOST that IMAGE has too, MPI and the C library apart.
 * IDLE has a flag for each of HOST: it is not loaded this time, and not looked at. The
 * choices point into HOST and IMAGE. *RET_REFUSED is a sentence when neither copy
 * serves both sides, or empty; where the image's is only there, there is no choice
 * then. Returns 0, or -1 out of memory. */
int berth_mpi_choose(const struct berth_mpi_objects *image,
                     const struct berth_mpi_objects *host, const bool *idle,
                     struct berth_mpi_choices *ret_choices,
                     struct berth_err *ret_refused, struct berth_err *err);

/* Is OBJECT, one of the host's, left out? */
bool berth_mpi_left_out(const struct berth_mpi_choices *choices,
                        const struct berth_mpi_object *object);

void berth_mpi_choices_fini(struct berth_mpi_choices *choices);

#endif
