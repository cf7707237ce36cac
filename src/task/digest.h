/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_TASK_DIGEST_H
#define BERTH_TASK_DIGEST_H

#include "task/stageroot.h"

/* "sha256:" and the 64 digits that sha256sum(1) prints for the file PATH, which takes
 * about a second for each gigabyte: so it is kept below ROOT (task/memo.h), and asked
 * again when the file's device, inode, size or time is another. It may take SECONDS;
 * that there is none is kept as well. NULL: none; the caller frees it. */
char *berth_digest(const char *path, const struct berth_stage_root *root,
                   unsigned int seconds);

#endif
