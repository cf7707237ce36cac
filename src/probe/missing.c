/* SPDX-License-Identifier: Apache-2.0 */
/* There is no image at a path: what somebody meant who wrote it. */

#include "probe/missing.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/strvec.h"
#include "base/text.h"
#include "probe/filesystem.h"
#include "request/registry.h"
#include "base/suggest.h"

/* A directory of a million files is not read to its end for a suggestion. */
enum { ENTRIES_MAX = 2000 };

/* A path, as far as it goes. */
struct way {
    char *directory;  /* the last one that is there */
    int fd;           /* of it; -1: none is */
    const char *rest; /* of the path */
    char *name;       /* the first of the rest */
    bool is_there;    /* a link that leads nowhere, or a file that is not a directory */
};

static void end_way(struct way *way)
{
    free(way->directory);
    free(way->name);
    if (way->fd >= 0)
        close(way->fd);
}

#define WAY __attribute__((cleanup(end_way)))

/* Out of memory, or a relative path: the rest is all of it. */
static struct way find_way(const char *path)
{
    struct way way = {.directory = strdup(path), .fd = -1, .rest = path};
    struct stat st;
    char *slash;

    while (way.fd < 0 && way.directory && (slash = strrchr(way.directory, '/'))) {
        way.rest = path + (slash - way.directory) + 1;
        slash[slash == way.directory] = '\0';
        way.fd = open(way.directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (slash == way.directory)
            break;
    }
    way.name = strndup(way.rest, strcspn(way.rest, "/"));
    way.is_there = way.fd >= 0 && way.name &&
                   fstatat(way.fd, way.name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    return way;
}

/* Can ENTRY be an image, or else a directory on the way to one? */
static bool is_candidate(const struct dirent *entry, bool image)
{
    if (*entry->d_name == '.')
        return false;
    return entry->d_type != DT_REG || (image && berth_registry_is_file(entry->d_name));
}

/* NULL: it cannot be read. */
static DIR *open_entries(int directory)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;

    if (!entries && fd >= 0)
        close(fd);
    return entries;
}

static void list(int directory, bool image, struct berth_strvec *ret)
{
    DIR *entries = open_entries(directory);
    struct dirent *entry;

    for (int i = 0; entries && i < ENTRIES_MAX && (entry = readdir(entries)); i++)
        if (is_candidate(entry, image))
            berth_strvec_push(ret, entry->d_name);
    if (entries)
        closedir(entries);
}

/* False where that cannot be told. */
static bool is_empty(int directory)
{
    DIR *entries = open_entries(directory);
    struct dirent *entry;
    bool empty = entries;

    while (empty && (entry = readdir(entries)))
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (entries)
        closedir(entries);
    return empty;
}

/* Can the rest be all that the user typed? Then the directory is the one in which the
 * command was typed. / is not counted: every path begins there. */
static bool is_bare(const struct way *way)
{
    struct stat here, directory;

    return way->fd >= 0 && !way->is_there && strcmp(way->directory, "/") != 0 &&
           stat(".", &here) == 0 && fstat(way->fd, &directory) == 0 &&
           here.st_dev == directory.st_dev && here.st_ino == directory.st_ino;
}

/* The name in the directory that is near the first one of the rest; NULL: none is. The
 * ending of a file name does not count for how many letters may be wrong. The caller
 * frees it. */
static char *find_near(const struct way *way)
{
    BERTH_STRVEC struct berth_strvec names = {0};
    BERTH_FREE char *file = NULL;
    const char *near = NULL;

    if (way->fd < 0 || !way->name || way->is_there)
        return NULL;
    list(way->fd, !strchr(way->rest, '/'), &names);
    if (asprintf(&file, "%s.sif", way->name) >= 0 && berth_strvec_has(&names, file))
        near = file;
    else if (names.count)
        near = berth_suggest_nearest(way->name, (const char *const *)names.items,
                                     strcspn(way->name, ".") / 3 + 1);
    return near ? strdup(near) : NULL;
}

static int suggest_registry(const char *path, const char *name, struct berth_err *err)
{
    return berth_err_set(err,
                         "image '%s': not found; for an image of a registry write "
                         "docker://%s/NAME:TAG " BERTH_REGISTRY_CUT,
                         path, name);
}

static int suggest_near(const char *path, const struct way *way, const char *near,
                        struct berth_err *err)
{
    if (!strchr(way->rest, '/'))
        return berth_err_set(err, "image '%s': not found; did you mean '%s'?", path,
                             near);
    return berth_err_set(err,
                         "image '%s': there is no directory '%s'; did you mean '%s'?",
                         path, way->name, near);
}

#define NOT_FOUND "not found; check the path, and that the nodes see this file system"

int berth_missing_explain(const char *path, struct berth_err *err)
{
    WAY struct way way = find_way(path);
    BERTH_BUF struct berth_buf uri = {0};
    BERTH_FREE char *near = NULL;
    bool bare = is_bare(&way);

    if (bare && berth_registry_meant(way.rest, &uri))
        return berth_err_set(err,
                             "image '%s': not found; for an image of a registry write "
                             "%s",
                             path, uri.text);
    near = find_near(&way);
    if (near)
        return suggest_near(path, &way, near, err);
    if (bare && berth_registry_is_host(way.rest))
        return suggest_registry(path, way.rest, err);
    if (berth_registry_is_file(path))
        return berth_err_set(err, "image '%s': " NOT_FOUND, path);
    return berth_err_set(
        err, "image '%s': " NOT_FOUND " (for an image of a registry write %s)", path,
        bare && berth_registry_possible(way.rest, &uri) ? uri.text : "docker://NAME");
}

bool berth_missing_in_registry(const char *path)
{
    WAY struct way way = find_way(path);
    BERTH_BUF struct berth_buf uri = {0};

    return is_bare(&way) &&
           (berth_registry_meant(way.rest, &uri) || berth_registry_is_host(way.rest));
}

/* An empty directory may be one where only the nodes mount something. */
bool berth_missing_everywhere(const char *path)
{
    WAY struct way way = find_way(path);

    return way.fd >= 0 && !way.is_there && berth_filesystem_is_shared(way.fd) &&
           !is_empty(way.fd);
}
