/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/strvec.h"

/* What tasks have written to the image of a container, as the upper directory of its
 * overlay has it (berth_overlay_upper()), and what of it a new image lacks. A program
 * of the image wrote these names: no link is followed, and depth and number have
 * limits, beyond which nothing is compared. */

struct berth_written_item {
    char *path; /* from the root, without the first slash */
    ino_t inode;
};

struct berth_written_items {
    struct berth_written_item *items; /* a directory is before what it has */
    size_t count, room;
};

/* Append to *RET, which starts as `= {0}`, the directories, regular files and symbolic
 * links below the directory UPPER. Leaves out what removes something of the image
 * (whiteouts), the paths EXCLUDED with what is below them, and what the caller may not
 * read. Returns 0, or -1 if there is no memory. */
int berth_written_list(int upper, const struct berth_strvec *excluded,
                       struct berth_written_items *ret);

/* The path of the first item that is not in LISTING, the output of `unsquashfs -l`,
 * which this function overwrites; NULL: there is none. An item that is no longer in
 * UPPER, or is another file there, does not count: a program that still runs has
 * removed it. Belongs to WRITTEN. */
const char *berth_written_missing(const struct berth_written_items *written, int upper,
                                  char *listing);

void berth_written_items_fini(struct berth_written_items *written);

#define BERTH_WRITTEN_ITEMS __attribute__((cleanup(berth_written_items_fini)))
