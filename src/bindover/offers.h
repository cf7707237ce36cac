/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bindover/inside.h"
#include "bindover/match.h"

/* Chooses from the stacks of INSIDE for a program, as berth_match_find() does; the
 * `offer` of a match is the number of a stack. */
int berth_offers_match(const struct berth_inside *inside,
                       const struct berth_mpi_program *program,
                       const struct berth_mpi_objects *image,
                       struct berth_match ret_matches[BERTH_MATCHES_MAX],
                       enum berth_reason *ret_reason, struct berth_err *err);
