/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/site.h"

/* Does SITE restrict images, so that files have to be checked? */
bool berth_allowed_is_restricted(const struct berth_site *site);

/* Is the image at PATH one that SITE allows: in one of its directories, and owned by
 * one of its users, as is its file system where a user has mounted that (FUSE)? The
 * file is opened once; its path and its owner are those of the open file. Returns 0
 * with *RET_PATH, where it really is, and *RET_IDENTITY, which file it is; the caller
 * frees both. Returns -1 with a sentence in ERR, also when there is nothing at PATH. */
int berth_allowed_image(const struct berth_site *site, const char *path,
                        char **ret_path, char **ret_identity, struct berth_err *err);

/* The same on the host where the command is typed: 0 also where SITE's directories and
 * users are not all known on this host, and where it asks for nothing. */
int berth_allowed_here(const struct berth_site *site, const char *path,
                       struct berth_err *err);

/* Is LINE, of /proc/self/mountinfo, that of the FUSE file system DEVICE? Then *RET_USER
 * is the user who has mounted it. */
bool berth_allowed_read_mounter(const char *line, dev_t device, uid_t *ret_user);

/* The real path of the source of each of MOUNTS (SRC:DST:ro|rw), "" where there is
 * none, appended to SOURCES. */
int berth_allowed_sources(const struct berth_strvec *mounts,
                          struct berth_strvec *sources, struct berth_err *err);

/* Appends to PRESENT those of MOUNTS whose source exists. */
int berth_allowed_present(const struct berth_strvec *mounts,
                          struct berth_strvec *present, struct berth_err *err);
