/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "step/stageroot.h"

/* "sha256:" and the 64 digits that sha256sum(1) prints for the file PATH, which takes
 * about a second for each gigabyte: so the digest is kept below ROOT
 * (step/factcache.h), and computed again when the file's inode, size or times have
 * changed. It may take SECONDS; a failure is kept as well. Returns NULL when there is
 * none; the caller frees the text. */
char *berth_digest(const char *path, const struct berth_stage_root *root,
                   unsigned int seconds);
