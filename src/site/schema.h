/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/reading.h"
#include "site/site.h"

/* Every key of berth.yaml, once. */
extern const struct berth_key berth_keys[];

/* Read the SIZE bytes of a file that messages call FILE over the defaults. Appends a
 * sentence `FILE:LINE: KEY: ...` to FAULTS for each fault; *RET has what was right, and
 * the caller owns it. Returns 0, also with faults, or -1 out of memory. */
int berth_schema_read(const char *file, const char *bytes, size_t size,
                      struct berth_site *ret, struct berth_strvec *faults,
                      struct berth_err *err);
