/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* The container runtime of this host: CONFIGURED if not NULL, else the first of
 * apptainer and singularity on PATH (may be NULL) and in the usual directories. On
 * success the caller frees *RET_PATH. */
int berth_runtime_find(const char *configured, const char *path, char **ret_path,
                       struct berth_err *err);

/* What the runtime at PATH says of itself with --version: the first line. NULL when it
 * says nothing; the caller frees it. */
char *berth_runtime_version(const char *path);

/* Why the runtime at PATH is to be started by the user, and not by root of a user
 * namespace of that user; NULL: root may start it, and the container is the same. */
const char *berth_runtime_refuses_root(const char *path);
