/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "bindover/bindover.h"
#include "mpi/profile.h"

/* Puts those stacks of KIND, FABRIC or LIBRARIES, that are asked for over the libraries
 * of PROGRAMS in the image, and lets the image's loader say whether these are what each
 * of their users loads. A fabric is used where it has each symbol that these users need
 * of the image's libraries, in all programs.
 *
 * Where the request leaves the choice to berth, what cannot be used stays the image's.
 * Libraries are always named. Returns 0, and the binding of PROGRAMS has a note that
 * says which are used, and of others why not, and a warning about one that is named and
 * that nobody is known to need; -1 with a sentence in ERR when the step is not to run.
 */
int berth_hostlibs_use(struct berth_programs *programs, enum berth_profile_kind kind,
                       struct berth_err *err);

/* Are fabrics asked for: some, or one of the host's by its name? */
bool berth_hostlibs_are_asked(const struct berth_decide *inside);

/* Does the witness look for libraries in the ranks? Not where it looks for a fabric
 * under the image's own MPI. */
bool berth_hostlibs_are_watched(const struct berth_decide *inside);
