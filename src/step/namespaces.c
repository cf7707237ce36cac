/* SPDX-License-Identifier: Apache-2.0 */
/* Which parts of the node a container shares with it. */

#include "step/namespaces.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/text.h"

bool berth_namespaces_differ(pid_t pid, const char *name)
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

void berth_namespaces_look(pid_t holder, struct berth_mpi_reach *reach)
{
    reach->pid = berth_namespaces_differ(holder, "pid");
    reach->ipc = berth_namespaces_differ(holder, "ipc");
    reach->network = berth_namespaces_differ(holder, "net");
    reach->shm = has_own_memory(holder);
}

/* Slurm makes a directory for the clients of a step below TmpFS, or where mpi.conf
 * says. No variable names it: where it is not below the server's own, as it is by
 * default, it counts as hidden, too. */
bool berth_namespaces_hide_pmix(pid_t holder, char *const *task)
{
    static const char start[] = "slurm.pmix.";
    const char *step = berth_environ_value(task, "PMIX_NAMESPACE");
    const char *modules = berth_environ_value(task, "PMIX_GDS_MODULE");
    const char *top = berth_environ_value(task, "PMIX_SYSTEM_TMPDIR");
    BERTH_FREE char *path = NULL;

    if (!step || !berth_text_starts(step, start) || !modules ||
        !strstr(modules, "shmem"))
        return false;
    return asprintf(&path, "/proc/%d/root%s/spmix_appdir_%u_%s", holder,
                    top ? top : "/tmp", getuid(), step + strlen(start)) >= 0 &&
           access(path, X_OK) < 0;
}
