/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* The nearest of NAMES (ended by NULL) to NAME: at most MOST letters are put in, taken
 * out or replaced. NULL: none is so near. */
const char *berth_suggest_nearest(const char *name, const char *const *names,
                                  size_t most);

/* Sets in ERR that NAME is not KIND ("a key here"), and that MEANT is one. Always
 * returns -1. */
int berth_suggest_meant(const char *name, const char *kind, const char *meant,
                        struct berth_err *err);

/* Sets in ERR that NAME is not KIND, with the nearest of NAMES as the
 * correction, or all of NAMES where none is near. NAMES ends with NULL and is not
 * empty. Always returns -1. */
int berth_suggest(const char *name, const char *kind, const char *const *names,
                  struct berth_err *err);
