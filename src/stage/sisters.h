/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stage/gather.h"

/* A program in C may need functions that its MPI has in libmpi and the host's has moved
 * to another library of the same install. Let each C library among the files of
 * GATHERED need those that define functions of MPI in C which it lacks. */
int berth_sisters_add(struct berth_gathered *gathered, struct berth_err *err);
