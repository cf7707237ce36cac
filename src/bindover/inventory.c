/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of an image that may be MPI libraries, by their names alone. */

#include "bindover/inventory.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/text.h"

enum { DEEPEST = 8, MOST = 200000 };

struct walk {
    struct berth_strvec *found;
    int left;       /* entries that may still be read */
    dev_t image[2]; /* the file systems of the image */
    bool is_fixed;  /* all directories are on them */
    bool is_cut;    /* some of them were not read */
};

bool berth_inventory_is_named(const char *name)
{
    static const char *const starts[] = {"libmpi",    "libmpich",  "libopen_mpi",
                                         "libfmpich", "mca_pmix_", NULL};
    const char *so = strstr(name, ".so");

    if (!so || so[strspn(so, ".so0123456789")] != '\0')
        return false;
    return berth_text_starts_any(name, starts);
}

static void add_file(struct walk *walk, const char *path)
{
    BERTH_FREE char *real = realpath(path, NULL);
    struct stat st;

    if (real && stat(real, &st) == 0 && S_ISREG(st.st_mode) &&
        !berth_strvec_has(walk->found, real))
        berth_strvec_push(walk->found, real);
}

/* Is NAME a directory of many files that are not libraries? */
static bool is_passed_over(const char *name)
{
    static const char *const names[] = {".",       "..",     "doc",     "include",
                                        "locale",  "man",    "share",   "src",
                                        "modules", "python", "python2", NULL};

    return berth_text_is_any(name, names);
}

static bool is_directory(const char *path, const struct dirent *entry)
{
    struct stat st;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_image(const struct walk *walk, int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 &&
           (st.st_dev == walk->image[0] || st.st_dev == walk->image[1]);
}

static dev_t device_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? st.st_dev : (dev_t)-1;
}

static void read_directory(struct walk *walk, const char *directory, int depth)
{
    DIR *stream = opendir(directory);
    struct dirent *entry;

    walk->is_fixed &= !stream || is_image(walk, dirfd(stream));
    while (stream && (entry = readdir(stream)) && walk->left-- > 0) {
        BERTH_FREE char *path = NULL;

        if (is_passed_over(entry->d_name))
            continue;
        if (asprintf(&path, "%s/%s", directory, entry->d_name) < 0) {
            walk->found->failed = true;
            break;
        }
        if (berth_inventory_is_named(entry->d_name))
            add_file(walk, path);
        else if (is_directory(path, entry) && depth < DEEPEST)
            read_directory(walk, path, depth + 1);
        else
            walk->is_cut |= is_directory(path, entry);
    }
    walk->is_cut |= walk->left < 0;
    if (stream)
        closedir(stream);
}

int berth_inventory_read(const struct berth_strvec *directories,
                         struct berth_strvec *ret, bool *ret_fixed, bool *ret_cut,
                         struct berth_err *err)
{
    struct walk walk = {.found = ret,
                        .left = MOST,
                        .image = {device_of("/"), device_of("/.singularity.d")},
                        .is_fixed = true};

    for (size_t i = 0; i < directories->count; i++)
        read_directory(&walk, directories->items[i], 0);
    if (ret_fixed)
        *ret_fixed = walk.is_fixed;
    if (ret_cut)
        *ret_cut = walk.is_cut;
    return ret->failed ? berth_err_oom(err) : 0;
}

/* Is PATH DIRECTORY, or below it? */
static bool is_below(const char *path, const char *directory)
{
    size_t length = strlen(directory);

    return strncmp(path, directory, length) == 0 &&
           (path[length] == '/' || path[length] == '\0');
}

bool berth_inventory_identify(const struct berth_strvec *directories,
                              struct berth_buf *key)
{
    BERTH_FCLOSE FILE *mounts = fopen("/proc/self/mountinfo", "re");
    BERTH_FREE char *line = NULL;
    size_t room = 0;

    for (size_t i = 0; i < directories->count; i++)
        berth_buf_addf(key, "%s\n", directories->items[i]);
    while (mounts && getline(&line, &room, mounts) > 0) {
        BERTH_FREE char *path = NULL;

        /* proc_pid_mountinfo(5) */
        if (sscanf(line, "%*d %*d %*s %*s %ms", &path) != 1)
            return false;
        for (size_t i = 0; i < directories->count; i++)
            if (is_below(path, directories->items[i]))
                berth_buf_addf(key, "%s\n", path);
    }
    return mounts && !key->failed;
}

/* Is DIRECTORY, a path without links, one of LIST or below one of them? */
static bool is_covered(const struct berth_strvec *list, const char *directory)
{
    for (size_t i = 0; i < list->count; i++)
        if (is_below(directory, list->items[i]))
            return true;
    return false;
}

static void add_directory(struct berth_strvec *directories, const char *directory)
{
    BERTH_FREE char *real = *directory == '/' ? realpath(directory, NULL) : NULL;

    if (real && strcmp(real, "/") != 0 && !is_covered(directories, real))
        berth_strvec_push(directories, real);
}

void berth_inventory_usual(const char *search, struct berth_strvec *directories)
{
    static const char *const usual[] = {"/usr/lib", "/usr/lib64", "/usr/local",
                                        "/opt",     "/lib",       "/lib64"};
    BERTH_FREE char *copy = strdup(search ? search : "");
    char *next = copy;
    char *directory;

    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        add_directory(directories, usual[i]);
    while (copy && (directory = strsep(&next, ":")))
        add_directory(directories, directory);
    directories->failed |= !copy;
}
