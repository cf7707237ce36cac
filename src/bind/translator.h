/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "bind/replacement.h"
#include "mpi/profile.h"
#include "site/terms.h"

/* A library with the interface of one MPI, which calls the host's MPI of another family
 * (profiles of kind TRANSLATOR). */

/* Is the translator of PROFILE for steps that name it, and not for `auto` and `host`:
 * do TERMS (NULL: none) not have it in mpi.order? False for any other profile. */
bool berth_translator_is_named_only(const struct berth_terms *terms,
                                    const struct berth_profile *profile);

/* Give the staged libraries of REPLACEMENT that translate the name of the profile, by
 * which messages call them: they have marks of the MPI whose interface they offer, and
 * are not that. Does nothing for any other stage. */
void berth_translator_name(struct berth_replacement *replacement);

/* Refuses a stage of a translator without the MPI that it calls: nobody could tell to
 * which process manager it speaks, and it could open the image's. Returns 0, also for
 * any other stage, or -1 with a sentence in ERR. */
int berth_translator_check(const struct berth_replacement *replacement,
                           struct berth_err *err);

/* The family of the staged MPI that speaks to the process manager: of a translator that
 * of the MPI which it calls, else that of REPLACEMENT. */
enum berth_mpi_family
berth_translator_speaker(const struct berth_replacement *replacement);
