/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Find the container runtime of this host: CONFIGURED if it is not NULL; else the first
 * of apptainer and singularity in PATH (may be NULL) and in the usual directories.
 * Returns 0, and the caller frees *RET_PATH; or -1 with a sentence in ERR. */
int berth_runtime_find(const char *configured, const char *path, char **ret_path,
                       struct berth_err *err);

/* Returns the image of the container in which a process with ENVIRONMENT (ended by
 * NULL; may be NULL) runs, as the runtime has written it there; NULL: it runs in none.
 * Belongs to ENVIRONMENT. */
const char *berth_runtime_image(char *const *environment);

/* The first line that the runtime at PATH prints with --version; NULL: it prints
 * nothing, or fails. The caller frees it. */
char *berth_runtime_version(const char *path);

/* Does the help of `exec` of the runtime at PATH list FLAG, as `--device` with a value?
 */
bool berth_runtime_has_flag(const char *path, const char *flag);

/* The same of `build`. */
bool berth_runtime_builds_with(const char *path, const char *flag);

/* Is the runtime at PATH an Apptainer with a setuid program? */
bool berth_runtime_is_setuid(const char *path);

/* Does the runtime at PATH mount the host's /dev in containers? Yes if its
 * configuration says `mount dev = yes`, says nothing, or cannot be read. */
bool berth_runtime_brings_dev(const char *path);

/* Why root in a user namespace of the user cannot start the runtime at PATH in place of
 * the user; NULL: it can, and the container is the same. */
const char *berth_runtime_refuses_root(const char *path);
