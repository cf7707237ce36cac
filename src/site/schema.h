/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/reading.h"
#include "site/site.h"

/* All keys of berth.yaml. */
extern const struct berth_key berth_keys[];

/* Reads the SIZE bytes of a file, FILE in messages, over the defaults. Appends a
 * sentence `FILE:LINE: KEY: ...` to FAULTS for each fault. *RET has all values without
 * a fault, and the caller owns *RET (berth_site_fini). Returns 0, also with faults, or
 * -1 out of memory. */
int berth_schema_read(const char *file, const char *bytes, size_t size,
                      struct berth_site *ret, struct berth_strvec *faults,
                      struct berth_err *err);
