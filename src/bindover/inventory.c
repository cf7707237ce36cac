/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of an image that may be MPI libraries, by their names alone. */

#include "bindover/inventory.h"

#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "mpi/filenames.h"
#include "request/path.h"

enum { DEEPEST = 8, MOST = 200000 };

static void add_file(const char *path, struct berth_strvec *found)
{
    BERTH_FREE char *real = realpath(path, NULL);
    struct stat st;

    if (real && stat(real, &st) == 0 && S_ISREG(st.st_mode))
        berth_strvec_push_once(found, real);
}

/* Is it a directory of many files that are not libraries? Of Python's packages only
 * those of wheels are read. */
static bool is_passed_over(const FTSENT *entry)
{
    static const char *const names[] = {"doc",     "include", "locale",  "man",
                                        "share",   "src",     "modules", "python",
                                        "python2", "pkgs",    NULL};
    static const char *const packages[] = {"site-packages", "dist-packages", NULL};

    bool is_top = entry->fts_level == 0;
    bool is_wheels = berth_text_ends(entry->fts_name, ".libs");

    if (is_top)
        return false;
    if (berth_text_is_any(entry->fts_parent->fts_name, packages))
        return !is_wheels || berth_text_is_any(entry->fts_name, names);
    return berth_text_is_any(entry->fts_name, names);
}

/* Reads ENTRY of TREE, and says whether to go into it if it is a directory. */
static void read_entry(FTS *tree, FTSENT *entry, struct berth_strvec *ret,
                       bool *ret_is_deep)
{
    bool is_directory = entry->fts_info == FTS_D;
    bool is_deep = is_directory && entry->fts_level > DEEPEST;

    if (!is_directory && berth_mpi_is_file_name(entry->fts_name))
        add_file(entry->fts_path, ret);
    if (is_deep)
        *ret_is_deep = true;
    if (is_deep || (is_directory && is_passed_over(entry)))
        fts_set(tree, entry, FTS_SKIP);
}

static FTS *open_tree(const struct berth_strvec *directories)
{
    if (directories->count == 0)
        return NULL;
    return fts_open(directories->items, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
}

int berth_inventory_read(const struct berth_strvec *directories,
                         struct berth_strvec *ret, bool *ret_cut, struct berth_err *err)
{
    FTS *tree = open_tree(directories);
    bool is_deep = false;
    int left = MOST;

    while (tree && left > 0) {
        FTSENT *entry = fts_read(tree);

        if (!entry)
            break;
        /* Not every file system counts subdirectories in it, and FTS_NOSTAT does. */
        entry->fts_nlink = 1;
        if (entry->fts_info == FTS_DP) /* a directory again, after what is in it */
            continue;
        read_entry(tree, entry, ret, &is_deep);
        left--;
    }
    if (tree)
        fts_close(tree);

    *ret_cut = is_deep || left == 0;
    if (ret->failed)
        return berth_err_oom(err);
    return 0;
}

/* Is DIRECTORY, a path without links, one of LIST or below one of them? */
static bool is_covered(const struct berth_strvec *list, const char *directory)
{
    for (size_t i = 0; i < list->count; i++)
        if (berth_path_is_within(directory, list->items[i]))
            return true;
    return false;
}

static void add_directory(struct berth_strvec *directories, const char *directory)
{
    BERTH_FREE char *real = NULL;

    if (*directory != '/')
        return;
    real = realpath(directory, NULL);
    if (!real || strcmp(real, "/") == 0)
        return;
    if (!is_covered(directories, real))
        berth_strvec_push(directories, real);
}

void berth_inventory_usual(const char *search, struct berth_strvec *directories)
{
    static const char *const usual[] = {"/usr/lib", "/usr/lib64", "/usr/local",
                                        "/opt",     "/lib",       "/lib64"};
    BERTH_FREE char *copy = NULL;
    char *next;

    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        add_directory(directories, usual[i]);

    if (!search)
        return;
    copy = strdup(search);
    if (!copy)
        directories->failed = true;
    next = copy;
    while (next)
        add_directory(directories, strsep(&next, ":"));
}
