/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves paths as realpath(3) does, and caches the results, those of directories
 * above all. */

#include "base/resolve.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/strvec.h"
#include "base/text.h"

static struct berth_strvec known; /* pairs: a path, and that path without links */

/* Returns the resolved path of NAME, neither empty nor `.` or `..`, in DIRECTORY. */
static char *resolve_name(const char *directory, const char *name)
{
    BERTH_FREE char *real = berth_resolve(directory);
    BERTH_FREE char *path = NULL;
    const char *parent;
    struct stat st;

    if (!real)
        return NULL;
    parent = strcmp(real, "/") == 0 ? "" : real;
    if (asprintf(&path, "%s/%s", parent, name) < 0) {
        path = NULL;
        return NULL;
    }
    if (lstat(path, &st) < 0)
        return NULL;
    if (S_ISLNK(st.st_mode))
        return realpath(path, NULL);
    return berth_steal(&path);
}

/* Is the last part of PATH, an absolute path, a name, and not `.`, `..` or nothing? */
static bool ends_in_name(const char *path)
{
    static const char *const others[] = {"", ".", "..", NULL};

    return !berth_text_is_any(berth_text_base(path), others);
}

/* Returns the resolved path of PATH, an absolute path that ends in a name. */
static char *resolve_in_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    BERTH_FREE char *directory = NULL;

    if (slash == path)
        return resolve_name("/", slash + 1);
    directory = strndup(path, (size_t)(slash - path));
    if (!directory)
        return NULL;
    return resolve_name(directory, slash + 1);
}

char *berth_resolve(const char *path)
{
    bool is_absolute = path && *path == '/';
    const char *found;
    char *result;

    /* A relative path changes with the directory of the process. What is too long for
     * the kernel, realpath() refuses. */
    if (!is_absolute || strlen(path) >= PATH_MAX)
        return realpath(path, NULL);
    found = berth_strvec_pair(&known, path);
    if (found)
        return strdup(found);
    if (ends_in_name(path))
        result = resolve_in_directory(path);
    else
        result = realpath(path, NULL);
    if (result)
        berth_strvec_push_pair(&known, path, result);
    return result;
}

void berth_resolve_forget(void)
{
    berth_strvec_fini(&known);
}
