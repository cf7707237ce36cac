/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* Refuse the file at PATH, open at FD, which is not a SIF file: the sentence in ERR
 * (may be NULL) says what the file is, and how to build an image from it. Returns -1.
 */
int berth_format_refuse(const char *path, int fd, struct berth_err *err);

/* Refuse the directory at PATH, which is not a root file system. Returns -1. */
int berth_format_refuse_directory(const char *path, struct berth_err *err);
