/* SPDX-License-Identifier: Apache-2.0 */
/* Identifies a file, and finds out whether a process has it open. A name may lead to
 * another file at any time; a descriptor does not. */

#include "base/fileid.h"

#include <errno.h>
#include <stdbool.h>
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

/* Has the file that NAME in DIRECTORY leads to IDENTITY? */
static bool is_file(int directory, const char *name, const char *identity)
{
    BERTH_FREE char *other = NULL;
    struct stat st;

    if (fstatat(directory, name, &st, 0) < 0)
        return false;
    other = berth_fileid_identity(&st);
    return other && strcmp(other, identity) == 0;
}

enum berth_fileid berth_fileid_by(pid_t pid, const char *identity)
{
    BERTH_CLOSEDIR DIR *directory = NULL;
    char name[64];

    snprintf(name, sizeof(name), "/proc/%d/fd", pid);
    directory = opendir(name);
    if (!directory)
        return errno == EACCES ? BERTH_OPENED_HIDDEN : BERTH_OPENED_NO;
    for (;;) {
        const struct dirent *entry = readdir(directory);

        if (!entry)
            return BERTH_OPENED_NO;
        if (*entry->d_name == '.')
            continue;
        if (is_file(dirfd(directory), entry->d_name, identity))
            return BERTH_OPENED_YES;
    }
}
