/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a list like the variable PATH. */

#include "base/searchpath.h"

#include <stdio.h>
#include <string.h>

bool berth_searchpath_next(struct berth_searchpath *path)
{
    const char *end;

    if (!path->left)
        return false;
    end = strchrnul(path->left, ':');
    path->directory = path->left;
    path->length = (size_t)(end - path->left);
    path->left = *end == ':' ? end + 1 : NULL;
    return true;
}

char *berth_searchpath_file(const struct berth_searchpath *path, const char *name)
{
    char *file;
    int result;

    if (path->length == 0)
        result = asprintf(&file, "./%s", name);
    else
        result = asprintf(&file, "%.*s/%s", (int)path->length, path->directory, name);
    if (result < 0)
        return NULL;
    return file;
}
