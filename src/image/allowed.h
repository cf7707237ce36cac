/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/site.h"

/* Does SITE restrict images by their directory, owner or signature? */
bool berth_allowed_is_restricted(const struct berth_site *site);

/* Check that SITE allows the image at PATH: the image is in one of the site's
 * directories, one of the site's users owns it, and one of these or root has mounted
 * its file system (FUSE). The file is opened once, and the checks are about the open
 * file. Returns 0 with its real path in *RET_PATH and its identity (base/fileid.h) in
 * *RET_IDENTITY, which the caller frees; or -1 with a sentence in ERR, also if there is
 * nothing at PATH. */
int berth_allowed_image(const struct berth_site *site, const char *path,
                        char **ret_path, char **ret_identity, struct berth_err *err);

/* The same on the host where the command is typed. Returns 0 also if SITE restricts
 * nothing, and if this host lacks one of SITE's directories or users. */
int berth_allowed_here(const struct berth_site *site, const char *path,
                       struct berth_err *err);

/* Is LINE, of /proc/self/mountinfo, about the FUSE file system DEVICE? Then *RET_USER
 * is the user who has mounted it. Public for a test. */
bool berth_allowed_read_mounter(const char *line, dev_t device, uid_t *ret_user);

/* Append to SOURCES, for each of MOUNTS (SRC:DST:ro|rw), the real path of SRC, or "" if
 * SRC does not exist. */
int berth_allowed_sources(const struct berth_strvec *mounts,
                          struct berth_strvec *sources, struct berth_err *err);

/* Append to PRESENT those of MOUNTS whose source exists. */
int berth_allowed_present(const struct berth_strvec *mounts,
                          struct berth_strvec *present, struct berth_err *err);
