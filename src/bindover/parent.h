/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "bindover/inside.h"
#include "bindover/replacement.h"
#include "mpi/reach.h"
#include "plan/binding.h"

/* What the process in the container asks of berth-mpi, and tells it. */

/* Ask for the stage of the stack of number AT: those of the host's MPIs, then those of
 * its fabrics. Opens it in REPLACEMENT. Returns 0, or -1 with a sentence in ERR. */
int berth_parent_get_stage(const struct berth_inside *inside, size_t at,
                           struct berth_replacement *replacement,
                           struct berth_err *err);

/* Add to BINDING what REPLACEMENT has set and mounted, by the paths on the host.
 * Out of memory sticks in BINDING's lists. */
void berth_parent_put(const struct berth_replacement *replacement,
                      struct berth_binding *binding);
