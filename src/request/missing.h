/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* Refuse PATH, where there is no file: the sentence in ERR suggests a similar name in
 * the same directory, or an image in a registry. Returns -1. */
int berth_missing_explain(const char *path, struct berth_err *err);

/* There is no file at PATH: did the user type the name of an image in a registry,
 * without a directory? Then no host has such a file. */
bool berth_missing_in_registry(const char *path);

/* There is no file at PATH: is this so on all hosts, because they share the file system
 * of its directory? */
bool berth_missing_everywhere(const char *path);

/* Is LINE, of /proc/self/mountinfo, about the file system DEVICE? Then *RET_SHARED is
 * whether it is such a file system. Public for a test. */
bool berth_missing_read_mount(const char *line, dev_t device, bool *ret_shared);
