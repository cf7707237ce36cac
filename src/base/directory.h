/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <dirent.h>

/* Returns the next entry of LIST, with `.` and `..`, until the next call; NULL: there
 * is none, or LIST is NULL, which could not be opened. */
static inline const struct dirent *berth_directory_next(DIR *list)
{
    if (!list)
        return NULL;
    return readdir(list);
}
