/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

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

/* Do hosts share a file system of TYPE (f_type of statfs(2))? False if that is not
 * known: all of FUSE has one type. Public for a test. */
bool berth_missing_is_shared(unsigned int type);
