/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_TASK_RECORD_H
#define BERTH_TASK_RECORD_H

#include "base/err.h"
#include "plan/record.h"

/* Append RECORD to the file that PATTERN names (berth_record_path()), as the calling
 * user, in one write, so that records of several steps do not mix on a local file
 * system. What the image and the runtime tell of themselves is asked here, and the
 * digest found out; they need not be set. The file is made if need be, readable by all
 * and writable by the user. Returns 0, or -1 with a sentence in ERR. */
int berth_record_append(struct berth_record *record, const char *pattern,
                        struct berth_err *err);

#endif
