/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "site/profiles.h"
#include "site/terms.h"

/* Read all profiles of a host: those in the files NAME.yaml in the directory of TERMS
 * (which need not exist), in the order of the file names, and then berth's own. Append
 * a sentence to ERRORS for each error: a file that others than root and OWNER can write
 * (site/siteread.h), a mistake in a file, and a name in the order or the modes of
 * TERMS that no profile has. Returns 0, and the caller owns *RET, also with errors; -1
 * when out of memory. */
int berth_profiles_errors(const struct berth_terms *terms, uid_t owner,
                          struct berth_profile_set *ret, struct berth_strvec *errors,
                          struct berth_err *err);

/* The same, but returns -1 with the first error in ERR. */
int berth_profiles_read(const struct berth_terms *terms, uid_t owner,
                        struct berth_profile_set *ret, struct berth_err *err);
