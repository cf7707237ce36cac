/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "bindover/fabrics.h"

/* For fabrics.c: what became of the COUNT PROGRAMS of a step in the container of
 * INSIDE. */

/* The number of the fabric of REPLACEMENT among those of INSIDE. */
size_t berth_fabrics_number(const struct berth_inside *inside,
                            const struct berth_replacement *replacement);

/* Why one of the programs cannot use the fabric of number I; NULL: all can. */
const char *berth_fabrics_refusal(struct berth_fabrics *const *programs, size_t count,
                                  size_t i);

/* Write into NOTE which fabrics or libraries are used, and of others why not; "": no
 * libraries are. */
void berth_fabrics_say(const struct berth_inside *inside,
                       struct berth_fabrics *const *programs, size_t count,
                       struct berth_err *note);
