/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "request/multiprog.h"

/* Read and parse the --multi-prog file NAME. Returns 0, and the caller owns *RET
 * (berth_multiprog_fini()); or -1 with a sentence in ERR that names the file. */
int berth_multiprog_load(const char *name, struct berth_multiprog *ret,
                         struct berth_err *err);
