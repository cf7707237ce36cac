/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "plan/record.h"

/* Open the file of RECORD (berth_record_path()) as the calling user, whom this sets in
 * RECORD. It is made if need be, readable by all and writable by the user. Returns a
 * descriptor, or -1 with a sentence in ERR. */
int berth_record_open(struct berth_record *record, struct berth_err *err);

/* Append RECORD to that file, which is open as FD. Returns 0, or -1 with a sentence in
 * ERR. */
int berth_record_put(const struct berth_record *record, int fd, struct berth_err *err);
