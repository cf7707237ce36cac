/* SPDX-License-Identifier: Apache-2.0 */
/* How a process of ours stops being part of the task that it comes from. */

#include "task/detach.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { FIRST = 3, MOST = 8 };

void berth_close_from(int first)
{
    DIR *directory = opendir("/proc/self/fd");
    struct dirent *entry;

    while (directory && (entry = readdir(directory))) {
        int fd = atoi(entry->d_name);

        if (fd >= first && fd != dirfd(directory))
            close(fd);
    }
    if (directory)
        closedir(directory);
}

/* Move the descriptors out of the way first: one may stand where another one goes. */
static void renumber(const int keep[], size_t count)
{
    int moved[MOST];

    for (size_t i = 0; i < count; i++)
        moved[i] = fcntl(keep[i], F_DUPFD, FIRST + MOST);
    for (size_t i = 0; i < count; i++)
        dup2(moved[i], FIRST + (int)i);
}

void berth_detach(const int keep[], size_t count, sigset_t *ret_mask)
{
    sigset_t all;
    int null;

    renumber(keep, count); /* one may be 0, 1 or 2, of a task that had closed them */
    null = open("/dev/null", O_RDWR);
    for (int i = 0; i < FIRST; i++)
        dup2(null, i);
    berth_close_from(FIRST + (int)count);
    setsid();
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, ret_mask);
    if (chdir("/") < 0)
        return; /* it only keeps a directory busy */
}
