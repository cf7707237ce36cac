/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "bindover/operation.h"
#include "bindover/replacement.h"
#include "bindover/scan.h"

/* Asks the loader of SCAN again, in the environment ENV (ends in NULL), which has SET
 * in it, about the program and all users: each library that is replaced must be the
 * staged one, and no library may be missing. If the loader shows a library of the image
 * where the verdict chose the host's copy, adds the mount of that copy to OPERATIONS,
 * and does it. Returns 0, or -1 with a sentence in ERR that names the file. */
int berth_replacement_verify(struct berth_replacement *replacement,
                             const struct berth_scan *scan,
                             struct berth_operations *operations, char *const *env,
                             struct berth_err *err);
