/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts and reads the marks by which ranks record that they have loaded the host's
 * MPI. */

#include "ipc/loadmarks.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/tree.h"
#include "ipc/loadmark.h"

enum { NAME_SIZE = 32, PATH_SIZE = 64 };

int berth_loadmarks_mount(void)
{
    /* an inode for each rank, and one for each process of unknown rank */
    return mount("berth", BERTH_MARK_DIRECTORY, "tmpfs",
                 MS_NOSUID | MS_NODEV | MS_NOEXEC,
                 "mode=0700,size=64k,nr_inodes=16384");
}

void berth_loadmarks_join(char *const *environment)
{
    const char *local = berth_environ_value(environment, BERTH_MARK_VARIABLE);
    const char *rank = berth_environ_value(environment, "SLURM_PROCID");
    char path[PATH_SIZE], target[NAME_SIZE];

    if (!local || !rank)
        return;
    snprintf(path, sizeof(path), BERTH_MARK_DIRECTORY "/" BERTH_MARK_TASK "%s", local);
    snprintf(target, sizeof(target), "%d %s", getpid(), rank);
    if (symlink(target, path) < 0)
        return; /* the marks are not mounted */
}

int berth_loadmarks_open(pid_t holder)
{
    char path[PATH_SIZE];
    struct statfs status;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/root" BERTH_MARK_DIRECTORY, holder);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    /* without the marks, the directory is one of the image */
    if (fstatfs(fd, &status) == 0 && status.f_type == TMPFS_MAGIC)
        return fd;
    close(fd);
    return -1;
}

static void read_mark(int marks, const char *name,
                      void (*function)(void *data, unsigned int local, pid_t pid,
                                       unsigned int rank),
                      void *data)
{
    char target[NAME_SIZE];
    unsigned int local, rank;
    ssize_t length;
    pid_t pid;

    if (sscanf(name, BERTH_MARK_TASK "%u", &local) != 1)
        return;
    length = readlinkat(marks, name, target, sizeof(target) - 1);
    if (length < 0)
        return;
    target[length] = '\0';
    if (sscanf(target, "%d %u", &pid, &rank) == 2)
        function(data, local, pid, rank);
}

void berth_loadmarks_each(int marks,
                          void (*function)(void *data, unsigned int local, pid_t pid,
                                           unsigned int rank),
                          void *data)
{
    BERTH_CLOSEDIR DIR *directory = berth_tree_list(marks, ".");
    const struct dirent *entry;

    if (!directory)
        return;
    for (entry = readdir(directory); entry; entry = readdir(directory))
        read_mark(marks, entry->d_name, function, data);
}

static bool has(int marks, const char *start, unsigned int number, const char *stage)
{
    BERTH_FREE char *name = NULL;

    if (asprintf(&name, "%s%u" BERTH_MARK_STAGE "%s", start, number, stage) < 0) {
        name = NULL;
        return false;
    }
    return faccessat(marks, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool berth_loadmarks_has(int marks, unsigned int local, pid_t pid, const char *stage)
{
    return has(marks, "", local, stage) ||
           has(marks, BERTH_MARK_PID, (unsigned int)pid, stage);
}
