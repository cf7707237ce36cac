/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and makes the directories of stages of the host's MPI. */

#include "container/stageroot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/tree.h"

struct berth_stage_root berth_stage_site(void)
{
    return (struct berth_stage_root){.path = BERTH_STAGE_SITE,
                                     .mounted = BERTH_STAGE_SITE_MOUNTED,
                                     .owner = 0,
                                     .forbidden = 0022};
}

enum { SECOND_SIZE = 25 };

static bool is_own(int top_fd, const char *name)
{
    struct stat st;

    if (fstatat(top_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    return S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* Is NAME one that make_second() makes for FIRST? */
static bool is_second(const char *name, const char *first)
{
    size_t length = strlen(first);

    if (!berth_text_starts(name, first) || name[length] != '.')
        return false;
    return strlen(name) < SECOND_SIZE;
}

/* Find a directory FIRST.XXXXXX of the user, and write its name to SECOND, which begins
 * empty; of several, all processes choose the same one. Only the user can make a
 * directory that the user owns. */
static void find_second(DIR *top, const char *first, char second[SECOND_SIZE])
{
    struct dirent *entry;

    rewinddir(top);
    while ((entry = readdir(top))) {
        const char *name = entry->d_name;
        bool is_better = !*second || strcmp(name, second) < 0;

        if (is_better && is_second(name, first) && is_own(dirfd(top), name))
            memcpy(second, name, strlen(name) + 1);
    }
}

/* Make a directory FIRST.XXXXXX of the user. Another step may make one at the same
 * time.
 */
static void make_second(const char *top, DIR *list, const char *first,
                        char second[SECOND_SIZE])
{
    char made[BERTH_STAGE_USER_SIZE];

    snprintf(made, sizeof(made), "%s/%s.XXXXXX", top, first);
    if (!mkdtemp(made))
        return;
    find_second(list, first, second);
    if (strcmp(berth_text_base(made), second) != 0)
        rmdir(made);
}

/* Does another user have the directory FIRST, or is it not a directory? */
static bool is_taken(int top_fd, const char *first)
{
    struct stat st;

    if (fstatat(top_fd, first, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    return !is_own(top_fd, first);
}

struct berth_stage_root berth_stage_user_in(const char *top, bool make,
                                            char path[BERTH_STAGE_USER_SIZE])
{
    BERTH_CLOSEDIR DIR *list = opendir(top);
    char first[24], second[SECOND_SIZE] = "";
    const char *name = first;

    snprintf(first, sizeof(first), "berth-%u", geteuid());
    if (list && is_taken(dirfd(list), first)) {
        find_second(list, first, second);
        if (!*second && make)
            make_second(top, list, first, second);
    }
    if (*second)
        name = second;
    snprintf(path, BERTH_STAGE_USER_SIZE, "%s/%s", top, name);
    return (struct berth_stage_root){.path = path,
                                     .mounted = BERTH_STAGE_USER_MOUNTED,
                                     .owner = geteuid(),
                                     .forbidden = 0077};
}

struct berth_stage_root berth_stage_user(char path[BERTH_STAGE_USER_SIZE])
{
    return berth_stage_user_in("/tmp", false, path);
}

struct berth_stage_root berth_stage_user_made(char path[BERTH_STAGE_USER_SIZE])
{
    return berth_stage_user_in("/tmp", true, path);
}

/* Make the directories above PATH. Whether one is missing, mkdir(2) of PATH says. */
static void make_parents(const char *path)
{
    for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        BERTH_FREE char *parent = strndup(path, (size_t)(at - path));

        if (parent)
            mkdir(parent, 0755);
    }
}

int berth_stage_root_open(const struct berth_stage_root *root, struct berth_err *err)
{
    mode_t mode = 0777 & ~root->forbidden;

    make_parents(root->path);
    if (mkdir(root->path, mode) == 0)
        chmod(root->path, mode); /* the umask may have removed permissions */
    else if (errno != EEXIST)
        return berth_err_set(err,
                             "'%s': cannot be made, and the host's MPI is copied "
                             "there: %s" BERTH_STAGE_ADVICE,
                             root->path, strerror(errno));
    return berth_tree_open(root->path, root->owner, root->forbidden, NULL, err);
}
