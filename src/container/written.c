/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what tasks have written to an image with the listing of another image. */

#include "container/written.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/directory.h"
#include "base/grow.h"
#include "base/text.h"
#include "base/tree.h"

/* Before each path that unsquashfs prints. */
#define LISTED "squashfs-root/"

/* A list of the items below a directory. */
struct walk {
    const struct berth_strvec *excluded;
    struct berth_written_items *items;
    bool failed; /* there is no memory */
};

/* Append PATH, which this function takes. */
static void append(struct walk *walk, char *path, ino_t inode)
{
    struct berth_written_items *items = walk->items;
    struct berth_written_item *item = NULL;

    if (berth_grow(&items->items, items->count, &items->room, sizeof(*item)) < 0) {
        free(path);
        walk->failed = true;
        return;
    }
    item = &items->items[items->count++];
    item->path = path;
    item->inode = inode;
}

/* Is NAME one that an overlay does not show (fuse-overlayfs(1)), or one that would be
 * several lines of a listing? */
static bool is_no_name(const char *name)
{
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return true;
    return berth_text_starts(name, ".wh.") || strchr(name, '\n');
}

/* What is neither a whiteout, which is a character device, nor anything else of which
 * an image need not have the name. */
static bool is_content(mode_t mode)
{
    return S_ISDIR(mode) || S_ISREG(mode) || S_ISLNK(mode);
}

static void walk_directory(struct walk *walk, int dir, const char *name,
                           const char *path, int depth);

/* Add NAME in DIR, a directory whose path is ABOVE ("": the root), and what is below
 * it. */
static void walk_one(struct walk *walk, int dir, const char *name, const char *above,
                     int depth)
{
    BERTH_FREE char *path = NULL;
    const char *shown;
    struct stat st;

    if (is_no_name(name) || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (!is_content(st.st_mode))
        return;
    if (asprintf(&path, "%s%s%s", above, *above ? "/" : "", name) < 0) {
        path = NULL;
        walk->failed = true;
        return;
    }
    if (berth_strvec_has(walk->excluded, path))
        return;

    shown = path;
    append(walk, berth_steal(&path), st.st_ino);
    if (!walk->failed && S_ISDIR(st.st_mode))
        walk_directory(walk, dir, name, shown, depth + 1);
}

/* Add what is below the directory NAME in DIR, whose path is PATH. One that cannot be
 * read is left out. */
static void walk_directory(struct walk *walk, int dir, const char *name,
                           const char *path, int depth)
{
    enum { DEEPEST = 128, MOST = 1 << 20 };
    BERTH_CLOSEDIR DIR *list = depth < DEEPEST ? berth_tree_list(dir, name) : NULL;
    const struct dirent *entry = berth_directory_next(list);

    while (entry && !walk->failed && walk->items->count < MOST) {
        walk_one(walk, dirfd(list), entry->d_name, path, depth);
        entry = berth_directory_next(list);
    }
}

int berth_written_list(int upper, const struct berth_strvec *excluded,
                       struct berth_written_items *ret)
{
    struct walk walk = {.excluded = excluded, .items = ret};

    walk_directory(&walk, upper, ".", "", 0);
    return walk.failed ? -1 : 0;
}

static int compare(const void *a, const void *b)
{
    const char *const *left = a;
    const char *const *right = b;

    return strcmp(*left, *right);
}

/* The paths of a listing, sorted; they belong to its text. */
struct paths {
    const char **items;
    size_t count, room;
};

/* Cut LISTING into its paths. Returns 0, or -1 if there is no memory. */
static int cut(char *listing, struct paths *ret)
{
    char *rest = NULL;
    const char *line = strtok_r(listing, "\n", &rest);

    while (line) {
        if (berth_text_starts(line, LISTED)) {
            if (berth_grow(&ret->items, ret->count, &ret->room, sizeof(*ret->items)) <
                0)
                return -1;
            ret->items[ret->count++] = line + strlen(LISTED);
        }
        line = strtok_r(NULL, "\n", &rest);
    }
    if (ret->count)
        qsort(ret->items, ret->count, sizeof(*ret->items), compare);
    return 0;
}

static bool has(const struct paths *paths, const char *path)
{
    return paths->count &&
           bsearch(&path, paths->items, paths->count, sizeof(*paths->items), compare);
}

/* Is ITEM as it was, below UPPER? */
static bool is_there(const struct berth_written_item *item, int upper)
{
    BERTH_FREE char *above = strdup(item->path); /* the directory that it is in */
    BERTH_CLOSE int dir = -1;
    const char *name = berth_text_base(item->path);
    struct stat st;

    if (!above)
        return false;
    above[name - item->path] = '\0';
    dir = berth_tree_open_plain(upper, above);
    if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    return is_content(st.st_mode) && st.st_ino == item->inode;
}

const char *berth_written_missing(const struct berth_written_items *written, int upper,
                                  char *listing)
{
    struct paths paths = {0};
    const char *missing = NULL;

    if (cut(listing, &paths) == 0)
        for (size_t i = 0; i < written->count && !missing; i++) {
            const struct berth_written_item *item = &written->items[i];

            if (!has(&paths, item->path) && is_there(item, upper))
                missing = item->path;
        }
    free(paths.items);
    return missing;
}

void berth_written_items_fini(struct berth_written_items *written)
{
    for (size_t i = 0; i < written->count; i++)
        free(written->items[i].path);
    free(written->items);
    *written = (struct berth_written_items){0};
}
