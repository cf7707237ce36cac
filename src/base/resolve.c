/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves paths as realpath(3) does, and caches the results, those of directories
 * above all. */

#include "base/resolve.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/strvec.h"

static struct berth_strvec known; /* pairs: a path, and that path without links */

/* Returns the resolved path of NAME, neither empty nor `.` or `..`, in DIRECTORY. */
static char *resolve_name(const char *directory, const char *name)
{
    BERTH_FREE char *real = berth_resolve(directory);
    BERTH_FREE char *path = NULL;
    struct stat st;

    if (!real ||
        asprintf(&path, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name) < 0 ||
        lstat(path, &st) < 0)
        return NULL;
    return S_ISLNK(st.st_mode) ? realpath(path, NULL) : berth_steal(&path);
}

char *berth_resolve(const char *path)
{
    const char *found = path ? berth_strvec_pair(&known, path) : NULL;
    const char *name = path ? strrchr(path, '/') : NULL;
    char *result;

    if (found)
        return strdup(found);
    if (name && *path == '/' && strlen(path) < PATH_MAX && name[1] &&
        strcmp(name, "/.") != 0 && strcmp(name, "/..") != 0) {
        BERTH_FREE char *directory =
            name == path ? strdup("/") : strndup(path, (size_t)(name - path));

        result = directory ? resolve_name(directory, name + 1) : NULL;
    } else
        result = realpath(path, NULL);
    if (result && *path == '/')
        berth_strvec_push_pair(&known, path, result);
    return result;
}

void berth_resolve_forget(void)
{
    berth_strvec_fini(&known);
}
