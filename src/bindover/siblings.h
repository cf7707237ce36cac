/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "bindover/stagefiles.h"

/* A program in C may expect functions in libmpi that the host's MPI has in another
 * library of the same install, a sister. Adds to the needs of each C library among the
 * files of GATHERED the sisters that define functions of MPI in C which it lacks.
 * Returns 0, or -1 with a sentence in ERR. */
int berth_sisters_add(struct berth_gathered *gathered, struct berth_err *err);
