/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "report/record.h"

/* Open the file that PATTERN names for RECORD (berth_record_path()), as the calling
 * user. It is made if need be, readable by all and writable by the user. Returns a
 * descriptor, or -1 with a sentence in ERR. */
int berth_record_open(const struct berth_record *record, const char *pattern,
                      struct berth_err *err);

/* Append RECORD to that file, open as FD. */
int berth_record_put(const struct berth_record *record, const char *pattern, int fd,
                     struct berth_err *err);

/* Both. Fills in the facts about image and runtime, and the digest; the caller need not
 * set them. */
int berth_record_append(struct berth_record *record, const char *pattern,
                        struct berth_err *err);
