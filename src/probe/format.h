/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* Sets in ERR that the file at PATH, open at FD, is not a SIF file, what it is instead,
 * and how a SIF file is made of it. Returns -1. */
int berth_format_refuse(const char *path, int fd, struct berth_err *err);

/* The same of a directory, which holds no root file system. */
int berth_format_refuse_directory(const char *path, struct berth_err *err);
