/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Sets in ERR that there is no image at PATH, with what was probably meant: a name in
 * the same directory, or an image in a registry. Returns -1. */
int berth_missing_explain(const char *path, struct berth_err *err);

/* Nothing is at PATH: is it the name of an image in a registry, which was typed without
 * a directory? Then no host has such a file. */
bool berth_missing_in_registry(const char *path);

/* Nothing is at PATH: is that so on all hosts, because its directory is on a file
 * system that they share? */
bool berth_missing_everywhere(const char *path);
