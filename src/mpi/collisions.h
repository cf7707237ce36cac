/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "mpi/objects.h"

/* A process has one library for each SONAME, the first that is mapped. If the host's
 * MPI and the image both have one, a choice says which of the two the process must get.
 */
struct berth_mpi_choice {
    const struct berth_mpi_object *host;
    const struct berth_mpi_object *image;
    bool from_host;    /* false: the host's library is left out */
    bool is_network;   /* it needs plugins of its own build, and drivers */
    bool image_serves; /* the image's library has all versions that the host's MPI wants
                        */
};

struct berth_mpi_choices {
    struct berth_mpi_choice *items;
    size_t count;
    size_t room;
};

/* Makes a choice for every library of HOST that IMAGE has, too, except for MPI and the
 * C library. IDLE has a flag for each object of HOST: true if this program does not
 * load it, so that it needs no choice. If neither copy serves both sides, the library
 * gets no choice, and RET_REFUSED a sentence that says so, unless the image's copy is
 * only PRESENT. Otherwise RET_REFUSED is "". Returns 0 with *RET_CHOICES, which the
 * caller owns (berth_mpi_choices_fini) and which points into HOST and IMAGE; -1 out of
 * memory.
 */
int berth_mpi_choose(const struct berth_mpi_objects *image,
                     const struct berth_mpi_objects *host, const bool *idle,
                     struct berth_mpi_choices *ret_choices,
                     struct berth_err *ret_refused, struct berth_err *err);

/* Is OBJECT, one of the host's, left out for the image's copy? */
bool berth_mpi_left_out(const struct berth_mpi_choices *choices,
                        const struct berth_mpi_object *object);

void berth_mpi_choices_fini(struct berth_mpi_choices *choices);
