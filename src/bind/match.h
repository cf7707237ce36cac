/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "mpi/objects.h"
#include "mpi/program.h"
#include "mpi/reason.h"

/* An MPI stack that the host offers. */
struct berth_offer {
    const char *name;      /* as users say it: mpich */
    const char *profile;   /* its profile, which may be said too */
    const char *version;   /* for people: "MPICH 4.2.1" */
    unsigned int families; /* a bit 1 << enum berth_mpi_family for each that it has */
};

/* The stack whose library replaces those of one family. */
struct berth_match {
    enum berth_mpi_family family;
    size_t offer;
};

/* The number of families. */
enum { BERTH_MATCHES_MAX = 4 };

/* Chooses from the COUNT OFFERS one for each family, under the MODE of the request
 * (auto counts as host). Of several the first is taken. A program that is linked with
 * MPI gets one for its family. For any other (a script, a Python, a launcher) each
 * family of which the image has libraries gets one, as far as the host offers it.
 * Returns how many matches are in RET_MATCHES; 0 when neither program nor image uses
 * MPI; -1 with a sentence in ERR when no offer fits, and in *RET_REASON where the
 * reason lies. */
int berth_match_find(const char *mode, const struct berth_mpi_program *program,
                     const struct berth_mpi_objects *image,
                     const struct berth_offer *offers, size_t count,
                     struct berth_match ret_matches[BERTH_MATCHES_MAX],
                     enum berth_reason *ret_reason, struct berth_err *err);
