/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "site/profiles.h"
#include "site/terms.h"

/* All profiles of a host: those of the files NAME.yaml in the directory of TERMS (none:
 * there is no such directory), in the order of their names, and then berth's own. A
 * file that anybody but root and OWNER could have written is refused, as berth.yaml is
 * (probe/siteread.h). So is a name in the order and the modes of TERMS that none of
 * them has. Appends a sentence to FAULTS for each fault. Returns 0 with *RET, which the
 * caller owns, also with faults; -1 out of memory. */
int berth_profiles_faults(const struct berth_terms *terms, uid_t owner,
                          struct berth_profile_set *ret, struct berth_strvec *faults,
                          struct berth_err *err);

/* The same, and -1 with the first fault in ERR. */
int berth_profiles_read(const struct berth_terms *terms, uid_t owner,
                        struct berth_profile_set *ret, struct berth_err *err);
