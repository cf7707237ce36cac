/* SPDX-License-Identifier: Apache-2.0 */
/* Guesses what image a user meant by a path where there is no file. */

#include "request/missing.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/strvec.h"
#include "base/text.h"
#include "base/tree.h"
#include "request/uri.h"
#include "base/suggest.h"

bool berth_missing_is_shared(unsigned int type)
{
    /* NFS, Lustre, GPFS, BeeGFS, CephFS, CIFS, SMB, AFS, GFS2, OCFS2, PanFS, PVFS2 */
    static const unsigned int shared[] = {
        0x00006969, 0x0BD00BD0, 0x47504653, 0x19830326, 0x00C36400, 0xFF534D42,
        0xFE534D42, 0x5346414F, 0x01161970, 0x7461636F, 0xAAD7AAEA, 0x20030528};

    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
        if (shared[i] == type)
            return true;
    return false;
}

/* Not the root file system: other hosts may have another one, and mounts that this host
 * lacks. */
static bool is_shared_by_hosts(int fd)
{
    struct stat here, root;
    struct statfs system;

    if (fstatfs(fd, &system) < 0 || fstat(fd, &here) < 0 || stat("/", &root) < 0)
        return false;
    return berth_missing_is_shared((unsigned int)system.f_type) &&
           here.st_dev != root.st_dev;
}

/* A directory of a million files is not read to its end for a suggestion. */
enum { ENTRIES_MAX = 2000 };

/* A path that is split at the last directory that exists. */
struct split {
    char *directory;  /* that one */
    int fd;           /* of the directory; -1: there is none */
    const char *rest; /* the path after the directory */
    char *name;       /* the first name in the rest */
    bool is_there;    /* the name exists: a dangling link, or a file, not a directory */
};

static void fini_split(struct split *split)
{
    free(split->directory);
    free(split->name);
    if (split->fd >= 0)
        close(split->fd);
}

#define SPLIT __attribute__((cleanup(fini_split)))

/* Find the last directory of PATH that exists, from the end of PATH to the root. */
static void find_directory(const char *path, struct split *split)
{
    char *slash = strrchr(split->directory, '/');

    while (slash) {
        const bool is_root = slash == split->directory;

        split->rest = path + (slash - split->directory) + 1;
        if (is_root)
            slash[1] = '\0';
        else
            slash[0] = '\0';
        split->fd = open(split->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (split->fd >= 0 || is_root)
            return;
        slash = strrchr(split->directory, '/');
    }
}

/* If PATH is relative, or out of memory: the rest is all of PATH. */
static struct split split_path(const char *path)
{
    struct split split = {.directory = strdup(path), .fd = -1, .rest = path};
    struct stat st;

    if (split.directory)
        find_directory(path, &split);
    split.name = strndup(split.rest, strcspn(split.rest, "/"));
    if (split.fd >= 0 && split.name)
        split.is_there = fstatat(split.fd, split.name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    return split;
}

/* Can ENTRY be an image (if IMAGE), or a directory above one? */
static bool is_candidate(const struct dirent *entry, bool image)
{
    if (*entry->d_name == '.')
        return false;
    return entry->d_type != DT_REG || (image && berth_registry_is_file(entry->d_name));
}

static void list(int directory, bool image, struct berth_strvec *ret)
{
    BERTH_CLOSEDIR DIR *entries = berth_tree_list(directory, ".");
    const struct dirent *entry;
    int count = 0;

    if (!entries)
        return;
    for (entry = readdir(entries); entry; entry = readdir(entries)) {
        if (is_candidate(entry, image))
            berth_strvec_push(ret, entry->d_name);
        count++;
        if (count == ENTRIES_MAX)
            return;
    }
}

/* Is DIRECTORY empty? False if it cannot be read. */
static bool is_empty(int directory)
{
    BERTH_CLOSEDIR DIR *entries = berth_tree_list(directory, ".");
    static const char *const always[] = {".", "..", NULL};
    const struct dirent *entry;

    if (!entries)
        return false;
    for (entry = readdir(entries); entry; entry = readdir(entries))
        if (!berth_text_is_any(entry->d_name, always))
            return false;
    return true;
}

/* May the rest be all that the user typed? Yes if the directory is the current one,
 * except for /, where each absolute path begins. */
static bool is_bare(const struct split *split)
{
    struct stat here, directory;

    if (split->fd < 0 || split->is_there || strcmp(split->directory, "/") == 0)
        return false;
    if (stat(".", &here) < 0 || fstat(split->fd, &directory) < 0)
        return false;
    return here.st_dev == directory.st_dev && here.st_ino == directory.st_ino;
}

/* A name in the directory that is similar to the first name of the rest; NULL: there is
 * none. The longer the name before its first dot, the more letters may differ: esm.sif
 * and atm.sif are two models. The caller frees it. */
static char *find_near(const struct split *split)
{
    BERTH_STRVEC struct berth_strvec names = {0};
    BERTH_FREE char *file = NULL;
    const char *near = NULL;
    bool is_last = !strchr(split->rest, '/');
    size_t most;

    if (split->fd < 0 || !split->name || split->is_there)
        return NULL;
    list(split->fd, is_last, &names);
    if (names.count == 0 || asprintf(&file, "%s.sif", split->name) < 0)
        return NULL;
    if (berth_strvec_has(&names, file))
        return strdup(file);

    most = (strcspn(split->name, ".") + 2) / 5;
    near = berth_suggest_nearest(split->name, (const char *const *)names.items, most);
    if (!near)
        return NULL;
    return strdup(near);
}

/* Could NAME, which does not look like an image in a registry, be one: ubuntu,
 * pytorch/pytorch? Names of images are in small letters (OCI distribution
 * specification, "Pulling manifests"). */
static bool is_short_name(const char *name, struct berth_buf *ret_uri)
{
    const char *slash = strchr(name, '/');

    for (const char *c = name; *c; c++)
        if (isupper((unsigned char)*c))
            return false;
    if (slash) {
        const char *after = slash + 1;

        if (*after == '\0' || strchr(after, '/'))
            return false;
    }
    return berth_registry_possible(name, ret_uri);
}

int berth_missing_explain(const char *path, struct berth_err *err)
{
    SPLIT struct split split = split_path(path);
    BERTH_BUF struct berth_buf uri = {0};
    BERTH_FREE char *near = NULL;
    bool bare = is_bare(&split);

    if (bare && berth_uri_is_build_source(split.rest))
        return berth_err_set(err, "image '%s': not found; " BERTH_URI_BUILD, path,
                             split.rest);
    if (bare && berth_registry_meant(split.rest, &uri))
        near = strdup(uri.text);
    else
        near = find_near(&split);
    if (near)
        return berth_err_set(err, "image '%s': not found; did you mean '%s'?", path,
                             near);
    if (bare && berth_registry_is_host(split.rest))
        return berth_err_set(err,
                             "image '%s': not found; for an image of a registry write "
                             "docker://%s/NAME:TAG " BERTH_REGISTRY_CUT,
                             path, split.rest);
    if (bare && is_short_name(split.rest, &uri))
        return berth_err_set(err,
                             "image '%s': not found; check the path, and that the "
                             "nodes see this file system, or write %s for an image of "
                             "a registry",
                             path, uri.text);
    return berth_err_set(err,
                         "image '%s': not found; check the path, and that the nodes "
                         "see this file system",
                         path);
}

bool berth_missing_names_image(const char *name, const char *base,
                               struct berth_buf *ret)
{
    BERTH_BUF struct berth_buf uri = {0};
    BERTH_BUF struct berth_buf first = {0};
    struct stat st;

    if (!base || !berth_registry_names(name, &uri))
        return false;
    berth_buf_addf(&first, "%s/", base);
    berth_buf_add(&first, name, strcspn(name, "/"));
    if (first.failed || uri.failed) {
        ret->failed = true;
        return true;
    }

    /* A link that leads nowhere is a path, too. */
    if (lstat(first.text, &st) == 0 || errno != ENOENT)
        return false;
    berth_buf_puts(ret, uri.text);
    return true;
}

bool berth_missing_is_word(const char *path, struct berth_buf *ret)
{
    SPLIT struct split split = split_path(path);
    BERTH_FREE char *near = find_near(&split);

    return is_bare(&split) && !near && is_short_name(split.rest, ret);
}

bool berth_missing_in_registry(const char *path)
{
    SPLIT struct split split = split_path(path);
    BERTH_BUF struct berth_buf uri = {0};

    if (!is_bare(&split))
        return false;
    if (berth_registry_meant(split.rest, &uri) || is_short_name(split.rest, &uri))
        return true;
    /* not an image, but meant as one */
    return berth_uri_is_build_source(split.rest) || berth_registry_is_host(split.rest);
}

/* In an empty directory, nodes may mount a file system that this host does not. */
bool berth_missing_everywhere(const char *path)
{
    SPLIT struct split split = split_path(path);

    if (split.fd < 0 || split.is_there)
        return false;
    return is_shared_by_hosts(split.fd) && !is_empty(split.fd);
}
