/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "elf/facts.h"
#include "site/profiles.h"

/* The directories that the libraries of an artifact search. */

/* Refuses the file at PATH, with the facts ELF, if it searches a directory outside of
 * ARTIFACT, which another user may have made or may make; $ORIGIN may be searched.
 * Returns 0, or -1 with a sentence in ERR. */
int berth_searchpath_check(const char *artifact, const char *path,
                           const struct berth_elf *elf, struct berth_err *err);

/* If this process is root's: sets `fault` of each profile of SET whose artifact has
 * such a file, before root's loader reads it; a user's process checks the files that it
 * uses (stage/artifact.h). Returns 0, or -1 out of memory. */
int berth_searchpath_check_all(struct berth_profile_set *set, struct berth_err *err);
