/* SPDX-License-Identifier: Apache-2.0 */
/* Removes what a runtime leaves that was killed while it started. Nothing shows which
 * runtime made a directory, so only this is removed: a mount without a server, and an
 * empty directory that no runtime is about to use. */

#include "step/remains.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "step/processes.h"

/* A user can unmount FUSE only through a setuid program. */
static void unmount(const char *place)
{
    static const char *const programs[] = {"/usr/bin/fusermount3",
                                           "/usr/bin/fusermount"};
    char *const environment[] = {NULL};
    pid_t pid;

    if (umount2(place, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
        return;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        const char *const argv[] = {programs[i], "-q", "-u", "-z", "--", place, NULL};

        if (posix_spawn(&pid, programs[i], NULL, NULL, (char *const *)argv,
                        environment) == 0) {
            waitpid(pid, NULL, 0);
            return;
        }
    }
}

void berth_remains_unmount(char *place)
{
    if (rmdir(place) < 0) {
        unmount(place);
        rmdir(place);
    }
    *strrchr(place, '/') = '\0';
    rmdir(place);
}

/* Can PROGRAM be the name of PROCESS (comm has at most 15 bytes: proc(5))? */
static bool is_called(const struct berth_process *process, const char *program)
{
    return strncmp(process->name, program, 15) == 0;
}

/* Is PROCESS one of RUNTIME (a path; maybe a script that executes the runtime) that may
 * be about to mount an image? When it has mounted, it is another program, starter. A
 * process that has ended has no program. */
static bool is_starting(const struct berth_process *process, void *runtime)
{
    char path[64];
    char program[1];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d", process->pid);
    if ((!is_called(process, runtime) && !is_called(process, "apptainer") &&
         !is_called(process, "singularity")) ||
        stat(path, &st) < 0 || st.st_uid != geteuid())
        return false;
    snprintf(path, sizeof(path), "/proc/%d/exe", process->pid);
    return readlink(path, program, sizeof(program)) > 0;
}

static bool is_any_starting(const char *runtime)
{
    return berth_processes_each(is_starting, (void *)berth_text_base(runtime)) > 0;
}

/* Is the file system of DIRECTORY of this node alone? In one of several nodes, another
 * node may be about to use a directory, and /proc does not show that. */
static bool is_local(int directory)
{
    static const unsigned int kinds[] = {
        BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC,
        RAMFS_MAGIC,       TMPFS_MAGIC,      XFS_SUPER_MAGIC};
    struct statfs found;

    if (fstatfs(directory, &found) < 0)
        return false;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if ((unsigned int)found.f_type == kinds[i])
            return true;
    return false;
}

static bool has_lost_its_server(const char *place)
{
    struct stat st;

    return stat(place, &st) < 0 && errno == ENOTCONN;
}

/* Remove the directories of NAME that are empty, if IS_QUIET: no runtime is about to
 * use them. */
static void clear(const char *directory, const char *name, bool is_quiet)
{
    static const char *const parts[] = {"l", "u", "m", "w/work", "w", "root", ""};
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s/root", directory, name);
    if (has_lost_its_server(path))
        berth_remains_unmount(path);
    for (size_t i = 0; is_quiet && i < sizeof(parts) / sizeof(parts[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s/%s", directory, name, parts[i]);
        rmdir(path);
    }
}

/* Is NAME the word START with a number behind it? */
static bool is_numbered(const char *name, const char *start)
{
    const char *number;

    if (!berth_text_starts(name, start))
        return false;
    number = name + strlen(start);
    return *number && number[strspn(number, "0123456789")] == '\0';
}

static bool is_ours(int directory, const char *name)
{
    struct stat st;

    return (is_numbered(name, "rootfs-") || is_numbered(name, "check-overlay")) &&
           fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* Clear the directories in PATH. Look for runtimes only after a directory was found: a
 * runtime that starts in between would be missed. */
static void clear_all(const char *path, const char *runtime)
{
    DIR *directory = opendir(path);
    bool local = directory && is_local(dirfd(directory));
    struct dirent *entry;

    while (directory && (entry = readdir(directory)))
        if (is_ours(dirfd(directory), entry->d_name))
            clear(path, entry->d_name, local && !is_any_starting(runtime));
    if (directory)
        closedir(directory);
}

void berth_remains_clear(const char *runtime)
{
    static const char *const variables[] = {"TMPDIR", "SINGULARITY_TMPDIR",
                                            "SINGULARITY_LOCALCACHEDIR",
                                            "SINGULARITY_CACHEDIR"};

    clear_all("/tmp", runtime);
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *path = getenv(variables[i]);

        if (path && *path == '/')
            clear_all(path, runtime);
    }
}
