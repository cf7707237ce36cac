/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and removes what killed processes of `berth save` have left. */

#include "cli/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/tree.h"

void berth_leftovers_lock(int part)
{
    flock(part, LOCK_EX | LOCK_NB);
}

/* Is NAME one that mkdtemp(3) makes of BASE.XXXXXX? */
static bool is_name(const char *name, const char *base)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789";
    const char *end = name + strlen(base) + 1;

    if (!berth_text_starts(name, base) || end[-1] != '.')
        return false;
    return strlen(end) == strlen("XXXXXX") && strspn(end, letters) == strlen(end);
}

/* Does nobody work in the directory NAME below DIR, which `berth save` of this user has
 * made? */
static bool is_left(int dir, const char *name)
{
    enum { YOUNG_SECONDS = 60 };
    BERTH_CLOSE int inside =
        openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    BERTH_CLOSE int part = -1;
    struct stat status;

    if (inside < 0 || fstat(inside, &status) < 0)
        return false;
    if (status.st_uid != geteuid() || (status.st_mode & 07777) != 0700)
        return false;
    if (status.st_ctim.tv_sec + YOUNG_SECONDS > time(NULL))
        return false;
    /* for a lock, a file system of the network wants it open for writing */
    part = openat(inside, BERTH_LEFTOVERS_PART,
                  O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return part >= 0 && flock(part, LOCK_EX | LOCK_NB) == 0;
}

void berth_leftovers_remove(const char *file)
{
    BERTH_FREE char *for_directory = strdup(file);
    BERTH_FREE char *for_base = strdup(file);
    BERTH_CLOSEDIR DIR *directory = NULL;
    const struct dirent *entry;
    const char *base;

    if (!for_directory || !for_base)
        return;
    base = basename(for_base);
    directory = opendir(dirname(for_directory));
    if (!directory)
        return;
    while ((entry = readdir(directory)))
        if (is_name(entry->d_name, base) && is_left(dirfd(directory), entry->d_name))
            berth_tree_remove(dirfd(directory), entry->d_name);
}
