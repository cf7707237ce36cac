/* SPDX-License-Identifier: Apache-2.0 */
/* Identifies a file, and finds out whether a process has it open. A name may lead to
 * another file at any time; a descriptor does not. */

#include "base/fileid.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

char *berth_fileid_identity(const struct stat *file)
{
    char *text = NULL;

    if (asprintf(&text, "%llu.%llu", (unsigned long long)file->st_dev,
                 (unsigned long long)file->st_ino) < 0)
        return NULL;
    return text;
}

enum berth_fileid berth_fileid_by(pid_t pid, const char *identity)
{
    BERTH_CLOSEDIR DIR *directory = NULL;
    struct dirent *entry;
    char name[64];

    snprintf(name, sizeof(name), "/proc/%d/fd", pid);
    directory = opendir(name);
    if (!directory)
        return errno == EACCES ? BERTH_OPENED_HIDDEN : BERTH_OPENED_NO;
    while ((entry = readdir(directory))) {
        BERTH_FREE char *other = NULL;
        struct stat st;

        if (*entry->d_name == '.' ||
            fstatat(dirfd(directory), entry->d_name, &st, 0) < 0)
            continue;
        other = berth_fileid_identity(&st);
        if (other && strcmp(other, identity) == 0)
            return BERTH_OPENED_YES;
    }
    return BERTH_OPENED_NO;
}
