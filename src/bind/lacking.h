/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "bind/replacement.h"
#include "discover/scan.h"

/* What a site's artifact lacks and the image does not have. A stage of copies lacks
 * nothing. */

/* Refuses REPLACEMENT, whose stage is an artifact, if one of its files needs a library
 * that is neither in the artifact nor, by the loader of SCAN in the environment ENV
 * (ends in NULL), in the image. The mounts are done. The sentence ends with the ADVICE.
 * Returns 0, or -1 with a sentence in ERR. */
int berth_lacking_check(const struct berth_replacement *replacement,
                        const struct berth_scan *scan, char *const *env,
                        const char *advice, struct berth_err *err);

/* Refuses REPLACEMENT if its artifact brings no C library, and the image's is too old.
 * Returns 0, or -1 with a sentence in ERR. */
int berth_lacking_check_glibc(const struct berth_replacement *replacement,
                              const struct berth_scan *scan, const char *advice,
                              struct berth_err *err);
