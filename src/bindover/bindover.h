/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "mpi/objects.h"

/* Plans which library of STAGED is mounted over which file of FAMILY in IMAGE: the one
 * that has all parts of the file (mpi/family.h), and of several the one with the fewest
 * other parts. Appends to BINDS: staged path, image path, staged path, ... A file that
 * no staged library can replace is left out; the verdict (mpi/verdict.h) has judged
 * whether the program can do without it. Returns 0, or -1 out of memory. */
int berth_bindover_plan(const struct berth_mpi_objects *image,
                        const struct berth_mpi_objects *staged,
                        enum berth_mpi_family family, struct berth_strvec *binds,
                        struct berth_err *err);

/* Drop those of PAIRS (source, destination, source, ...) that are in BOUND, because
 * they are mounted for another program, and append the others to BOUND. Out of memory
 * sticks in BOUND. */
void berth_bound_drop(struct berth_strvec *pairs, struct berth_strvec *bound);
