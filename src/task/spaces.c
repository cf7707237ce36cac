/* SPDX-License-Identifier: Apache-2.0 */
/* Which parts of the node a container shares with it. */

#include "task/spaces.h"

#include <stdio.h>
#include <sys/stat.h>

bool berth_spaces_differ(pid_t pid, const char *name)
{
    char path[64];
    struct stat ours, theirs;

    snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
    if (stat(path, &ours) < 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
    return stat(path, &theirs) == 0 && ours.st_ino != theirs.st_ino;
}

static bool has_own_memory(pid_t holder)
{
    char path[64];
    struct stat ours, theirs;

    snprintf(path, sizeof(path), "/proc/%d/root/dev/shm", holder);
    return stat("/dev/shm", &ours) == 0 && stat(path, &theirs) == 0 &&
           ours.st_dev != theirs.st_dev;
}

void berth_spaces_look(pid_t holder, struct berth_mpi_reach *reach)
{
    reach->pid = berth_spaces_differ(holder, "pid");
    reach->ipc = berth_spaces_differ(holder, "ipc");
    reach->network = berth_spaces_differ(holder, "net");
    reach->shm = has_own_memory(holder);
}
