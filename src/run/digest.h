/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "step/stageroot.h"

/* Returns "sha256:" and the 64 digits that sha256sum(1) prints for the file PATH, which
 * the caller frees; NULL: sha256sum failed, or took longer than SECONDS. It takes about
 * a second for each gigabyte, so the digest, or the failure, is cached below ROOT
 * (step/factcache.h), and computed again only when inode, size or times of the file
 * have changed. */
char *berth_digest(const char *path, const struct berth_stage_root *root,
                   unsigned int seconds);
