/* SPDX-License-Identifier: Apache-2.0 */
/* What a runtime leaves that is killed while it starts. Whose a directory is cannot be
 * told; but what is dead, or empty when nobody is about to fill it, nobody misses. */

#include "launch/remains.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "step/processes.h"

/* A user may take away a mount of FUSE only through a program that is setuid. */
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

/* A runtime whose process has that name may be about to mount an image. (Later it is
 * another program, starter.) A process that has ended has no program. */
static bool is_starting(const struct berth_process *process, void *name)
{
    char path[64];
    char program[1];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d", process->pid);
    if (strcmp(process->name, name) != 0 || stat(path, &st) < 0 ||
        st.st_uid != geteuid())
        return false;
    snprintf(path, sizeof(path), "/proc/%d/exe", process->pid);
    return readlink(path, program, sizeof(program)) > 0;
}

static bool is_any_starting(const char *runtime)
{
    char name[16]; /* proc(5): comm */

    snprintf(name, sizeof(name), "%s", berth_text_base(runtime));
    return berth_processes_visit(is_starting, name) > 0;
}

static bool has_lost_its_server(const char *place)
{
    struct stat st;

    return stat(place, &st) < 0 && errno == ENOTCONN;
}

/* Only what is empty goes; IS_QUIET: nobody is about to fill it. */
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

static bool is_ours(int directory, const char *name)
{
    static const char *const starts[] = {"rootfs-", "check-overlay", NULL};
    size_t digits = strspn(name + strcspn(name, "0123456789"), "0123456789");
    struct stat st;

    return digits && berth_text_starts_any(name, starts) &&
           strcspn(name, "0123456789") + digits == strlen(name) &&
           fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static void clear_all(const char *path, bool is_quiet)
{
    DIR *directory = opendir(path);
    struct dirent *entry;

    while (directory && (entry = readdir(directory)))
        if (is_ours(dirfd(directory), entry->d_name))
            clear(path, entry->d_name, is_quiet);
    if (directory)
        closedir(directory);
}

void berth_remains_clear(const char *runtime)
{
    static const char *const variables[] = {"TMPDIR", "SINGULARITY_TMPDIR",
                                            "SINGULARITY_LOCALCACHEDIR",
                                            "SINGULARITY_CACHEDIR"};
    bool is_quiet = !is_any_starting(runtime);

    clear_all("/tmp", is_quiet);
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *path = getenv(variables[i]);

        if (path && *path == '/')
            clear_all(path, is_quiet);
    }
}
