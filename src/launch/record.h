/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_LAUNCH_RECORD_H
#define BERTH_LAUNCH_RECORD_H

#include "base/err.h"
#include "report/record.h"

/* Append RECORD to the file that PATTERN names (berth_record_path()), as the calling
 * user, in one write, so that records of several steps do not mix on a local file
 * system. Fills in the facts about image and runtime, and the digest; the caller need
 * not set them. The file is made if need be, readable by all and writable by the user.
 * Returns 0, or -1 with a sentence in ERR. */
int berth_record_append(struct berth_record *record, const char *pattern,
                        struct berth_err *err);

#endif
