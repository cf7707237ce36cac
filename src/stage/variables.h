/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "stage/gather.h"

/* Appends to RET the NAME=VALUE of each variable that the files GATHERED of STACK need
 * in a stage at MOUNTED in the container. Returns 0, or -1 out of memory. */
int berth_variables_list(const struct berth_gathered *gathered,
                         const struct berth_stack *stack, const char *mounted,
                         struct berth_strvec *ret, struct berth_err *err);
