/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "mpi/collisions.h"

/* Whether a process can run with the glibc of each side. */
struct berth_mpi_glibc {
    /* The highest version that the image's glibc lacks and the host's MPI needs, e.g.
     * GLIBC_2.38, and the other way round; NULL: none. */
    const char *image_lacks, *host_lacks;
    const char *image_newest; /* the highest that the image's libc.so.6 defines */
    const char *host_newest;
};

/* Compares the versions of glibc that the files of HOST need with those that the
 * image's glibc defines, and the other way round. Files of HOST that CHOICES (NULL:
 * none) leave out, or that are IDLE (NULL: none; collisions.h), do not count. Versions
 * are compared as names and not as numbers, because some have no number
 * (GLIBC_ABI_DT_RELR). The texts of *RET_GLIBC belong to the objects. */
void berth_mpi_compare_glibc(const struct berth_mpi_objects *image,
                             const struct berth_mpi_objects *host, const bool *idle,
                             const struct berth_mpi_choices *choices,
                             struct berth_mpi_glibc *ret_glibc);
