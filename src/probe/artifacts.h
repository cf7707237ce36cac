/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/profiles.h"

/* Directories that a site has built (`artifact` of a profile), on this node. */

/* Finds out for each profile of SET with an artifact where that is on this node, with
 * $arch for the machine and without links, and sets `prefix`; or `fault` if it is
 * missing, others than root and OWNER could change it (probe/trusted.h), or, if the
 * process is root's, a file in it; if it lacks what the profile is for, is for another
 * machine, or on a file system without programs. Returns 0, or -1 out of memory. */
int berth_artifacts_resolve(struct berth_profile_set *set, uid_t owner,
                            struct berth_err *err);

/* Appends to RET what was found out: name of a profile, directory ("": none), fault
 * (""), name, ... Out of memory sticks in RET. */
void berth_artifacts_list(const struct berth_profile_set *set,
                          struct berth_strvec *ret);

/* Sets in SET what LIST, of berth_artifacts_list(), says: a step uses what was found
 * when its container started. Returns 0, or -1 out of memory. */
int berth_artifacts_set(struct berth_profile_set *set, const struct berth_strvec *list,
                        struct berth_err *err);
