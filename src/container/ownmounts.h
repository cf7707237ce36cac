/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "container/namespaces.h"

/* What of --container-mounts no runtime does: a tmpfs with options, a mount taken away,
 * the propagation of a mount. It is done in a container that has started, before a task
 * is in it. */

/* Returns the first of MOUNTS, in full form (request/mount.h), that is such a one;
 * NULL: there is none. */
const char *berth_ownmounts_find(const struct berth_strvec *mounts);

/* Do in the container of HOLDER what MOUNTS ask for, one after the other, as the owner
 * of its mounts. Paths are those of the container: nothing else can be reached.
 * Returns 0, or -1 with a sentence in ERR. */
int berth_ownmounts_do(struct berth_holder holder, const struct berth_strvec *mounts,
                       struct berth_err *err);
