/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* Returns the one of NAMES (ended by NULL) that is nearest to NAME; NULL: each differs
 * by more than MOST letters that are inserted, removed or replaced. */
const char *berth_suggest_nearest(const char *name, const char *const *names,
                                  size_t most);

/* Write into ERR that NAME is not KIND ("a key here"), and that MEANT is one. Always
 * returns -1. */
int berth_suggest_meant(const char *name, const char *kind, const char *meant,
                        struct berth_err *err);

/* Write into ERR that NAME is not KIND; EXPECTED is what would be. Always returns -1.
 */
int berth_suggest_expected(const char *name, const char *kind, const char *expected,
                           struct berth_err *err);

/* Write into ERR that WORD is not an option, and that the option MEANT is one, without
 * its dashes, or EXPECTED if MEANT is NULL. Always returns -1. */
int berth_suggest_option(const char *word, const char *meant, const char *expected,
                         struct berth_err *err);

/* Write into ERR that NAME is not KIND, with the nearest of NAMES, or with all of NAMES
 * if none is near. NAMES ends in NULL and is not empty. Always returns -1. */
int berth_suggest(const char *name, const char *kind, const char *const *names,
                  struct berth_err *err);
