/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves paths as realpath(3) does, and caches each step. */

#include "base/resolve.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strvec.h"

enum { DEPTH_MAX = 100 }; /* of recursion: components, and links that lead to links */

static struct berth_strvec known; /* pairs: a path, and that path without links */

static char *resolve(const char *path, int depth);

/* Returns the resolved path of NAME in DIRECTORY, whose path has no links. */
static char *resolve_name(const char *directory, const char *name, int depth)
{
    const char *top = strcmp(directory, "/") == 0 ? "" : directory;
    BERTH_FREE char *path = NULL;
    BERTH_FREE char *further = NULL;
    char link[PATH_MAX];
    ssize_t length;

    if (strcmp(name, ".") == 0)
        return strdup(directory);
    if (strcmp(name, "..") == 0) {
        size_t end = *top ? (size_t)(strrchr(top, '/') - top) : 0;

        return strndup(directory, end ? end : 1);
    }
    if (asprintf(&path, "%s/%s", top, name) < 0)
        return NULL;
    length = readlink(path, link, sizeof(link) - 1);
    if (length < 0)
        return errno == EINVAL ? berth_steal(&path) : NULL;
    link[length] = '\0';
    if (*link == '/')
        return resolve(link, depth);
    return asprintf(&further, "%s/%s", top, link) < 0 ? NULL : resolve(further, depth);
}

static char *resolve(const char *path, int depth)
{
    BERTH_FREE char *trimmed = strdup(path);
    BERTH_FREE char *directory = NULL;
    char *result, *slash;
    const char *found;

    for (size_t end = trimmed ? strlen(trimmed) : 0; end && trimmed[end - 1] == '/';)
        trimmed[--end] = '\0';
    if (!trimmed || !*trimmed)
        return trimmed ? strdup("/") : NULL;
    found = berth_strvec_pair(&known, trimmed);
    if (found)
        return strdup(found);
    if (depth == 0) {
        errno = ELOOP;
        return NULL;
    }
    slash = strrchr(trimmed, '/');
    *slash = '\0';
    directory = resolve(trimmed, depth - 1);
    *slash = '/';
    result = directory ? resolve_name(directory, slash + 1, depth - 1) : NULL;
    if (result) {
        berth_strvec_push(&known, trimmed);
        berth_strvec_push(&known, result);
    }
    return result;
}

char *berth_resolve(const char *path)
{
    return *path == '/' ? resolve(path, DEPTH_MAX) : realpath(path, NULL);
}

void berth_resolve_forget(void)
{
    berth_strvec_fini(&known);
}
