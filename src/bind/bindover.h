/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "mpi/objects.h"

/* Which staged library goes over which file of the image: each file of FAMILY gets a
 * staged library that gives all that it gives (mpi/family.h); of several the one that
 * gives the least in addition. Appends to BINDS staged path, image path, staged path,
 * ... A file that no staged library can replace is left out; the verdict has judged
 * before whether the program can do without it. */
int berth_bindover_plan(const struct berth_mpi_objects *image,
                        const struct berth_mpi_objects *staged,
                        enum berth_mpi_family family, struct berth_strvec *binds,
                        struct berth_err *err);
