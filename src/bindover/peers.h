/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

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
int berth_peers_check(const struct berth_inside *inside, struct berth_program *program,
                      char *const *container, struct berth_err *err);

/* Appends to RET which MPIs PROGRAM, which has replacements, may use. An install that
 * provides two of them, as Open MPI 6 with the standard ABI, is named once. Returns 0,
 * or -1 out of memory. */
int berth_peers_name(const struct berth_program *program, struct berth_buf *ret,
                     struct berth_err *err);
