/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_MPI_GLIBC_H
#define BERTH_MPI_GLIBC_H

#include "mpi/collisions.h"

/* Which glibc a process can have. */
struct berth_mpi_glibc {
    bool image_serves; /* the image's defines all that the host's MPI wants */
    bool host_serves;  /* the host's defines all that the image's files want */
    const char
        *version; /* the highest that the image's lacks, e.g. GLIBC_2.38; NULL: none */
    const char *user;         /* the host's file that wants it */
    const char *image_newest; /* the highest that the image's libc.so.6 defines */
    const char *host_newest;
    const char *host_lacks; /* the highest that the host's lacks; NULL: none */
};

/* Compare what the files of HOST, without those that CHOICES leave out or that are IDLE
 * (collisions.h), want of the
 * files of glibc with what the image's files of the same names define, and the other
 * way round. Versions are names, compared one by one and never by number: some have
 * none (GLIBC_ABI_DT_RELR). A file that is not among the objects defines nothing. The
 * texts belong to the objects. */
void berth_mpi_compare_glibc(const struct berth_mpi_objects *image,
                             const struct berth_mpi_objects *host, const bool *idle,
                             const struct berth_mpi_choices *choices,
                             struct berth_mpi_glibc *ret_glibc);

#endif
