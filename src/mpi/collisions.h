/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "mpi/objects.h"

/* A process has one library for each SONAME, the first that is mapped. Where the host's
 * MPI and the image both bring one, a choice says which of them the process is to have.
 */
struct berth_mpi_choice {
    const struct berth_mpi_object *host;
    const struct berth_mpi_object *image;
    bool from_host;    /* false: the host's library is left out */
    bool is_network;   /* it works with plugins of its own build, and with drivers */
    bool image_serves; /* the image's library has all versions that the host's MPI wants
                        */
    const char *because;
};

struct berth_mpi_choices {
    struct berth_mpi_choice *items;
    size_t count;
    size_t room;
};

/* Makes a choice for every library of HOST that IMAGE has, too, except for MPI and the
 * C library. IDLE has a flag for each library of HOST: true if this program does not
 * load it, and it needs no choice. The choices point into HOST and IMAGE. If neither
 * copy serves both sides, *RET_REFUSED is a sentence that says so; but if the image's
 * copy is only present, and not loaded, that library gets no choice and no refusal.
 * Otherwise *RET_REFUSED is empty. Returns 0, or -1 out of memory. */
int berth_mpi_choose(const struct berth_mpi_objects *image,
                     const struct berth_mpi_objects *host, const bool *idle,
                     struct berth_mpi_choices *ret_choices,
                     struct berth_err *ret_refused, struct berth_err *err);

/* Is OBJECT, one of the host's, left out? */
bool berth_mpi_left_out(const struct berth_mpi_choices *choices,
                        const struct berth_mpi_object *object);

void berth_mpi_choices_fini(struct berth_mpi_choices *choices);
