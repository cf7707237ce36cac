/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "bindover/bindover.h"

/* Checks whether the tasks of the step of INSIDE can find and reach each other with the
 * MPI that will run (mpi/pmi.h, mpi/reach.h); CONTAINER is the environment there (ends
 * in NULL). A PROGRAM whose MPI is not known may use each replacement, which are those
 * of MPIs, or, without any, each MPI of the image: it passes if one of these fits. Sets
 * `alone` and `alone_replacement` of PROGRAM for one that does not fit: the witness
 * reports a rank that loads it (bindover/witness.h). Returns 0, or -1 with a sentence
 * in ERR. */
int berth_startup_check(const struct berth_decide *inside,
                        struct berth_program *program, char *const *container,
                        struct berth_err *err);

/* Appends to RET which MPIs PROGRAM, which has replacements, may use: ALL of them, or
 * only those that do not bring the host's C library. An install that provides two of
 * them, as Open MPI 6 with the standard ABI, is named once. Out of memory sticks in
 * RET. */
void berth_startup_name(const struct berth_program *program, bool all,
                        struct berth_buf *ret);
