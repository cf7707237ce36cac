/* SPDX-License-Identifier: Apache-2.0 */
/* Which file it is, and who has it open. A name can lead to another file at any time; a
 * descriptor cannot. */

#include "probe/opened.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

char *berth_opened_identity(const struct stat *file)
{
    char *text = NULL;

    if (asprintf(&text, "%llu.%llu", (unsigned long long)file->st_dev,
                 (unsigned long long)file->st_ino) < 0)
        return NULL;
    return text;
}

/* Is the file IDENTITY open in DIRECTORY, which has a link for each descriptor? */
static bool has(DIR *directory, const char *identity)
{
    struct dirent *entry;
    bool found = false;

    while (!found && (entry = readdir(directory))) {
        BERTH_FREE char *other = NULL;
        struct stat st;

        if (*entry->d_name == '.' ||
            fstatat(dirfd(directory), entry->d_name, &st, 0) < 0)
            continue;
        other = berth_opened_identity(&st);
        found = other && strcmp(other, identity) == 0;
    }
    return found;
}

int berth_opened_check(pid_t runtime, const char *identity, const char *image,
                       struct berth_err *err)
{
    char name[64];
    bool found;
    DIR *directory;

    if (!identity)
        return 0;
    snprintf(name, sizeof(name), "/proc/%d/fd", runtime);
    directory = opendir(name);
    found = directory ? has(directory, identity) : errno == EACCES;
    if (directory)
        closedir(directory);
    return found ? 0 : berth_err_set(err, BERTH_OPENED_EXCHANGED, image);
}
