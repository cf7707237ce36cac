/* SPDX-License-Identifier: Apache-2.0 */
/* Enters a container that runs (setns(2), user_namespaces(7)). */

#include "step/join.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/resolve.h"
#include "base/text.h"
#include "step/namespaces.h"

/* The namespaces, in the order in which a task enters them after the user namespace,
 * which gives the right to enter the others. The mount namespace is the last one,
 * because it has another /proc. The process namespace holds for children only; the
 * process itself stays in its own. */
static const char *const namespaces[] = {"ipc", "uts", "net", "pid", "cgroup", "mnt"};

enum { COUNT = sizeof(namespaces) / sizeof(namespaces[0]), MOUNTS = COUNT - 1 };

/* What a task needs of a container; all is opened before the task enters the first
 * namespace. */
struct container {
    int root;
    int user;         /* the user namespace of its processes; -1: that of the task */
    int owner;        /* that of its mounts; -1: one of the two others */
    int space[COUNT]; /* -1: that of the task */
    unsigned long long bound;
    int no_new_privs;
};

/* The directories with the namespaces of this process and of the holder. A name in a
 * directory costs less than a path, and every task looks up all of them. */
struct spaces {
    int ours, theirs;
};

/* Is FD the user namespace in DIRECTORY? */
static bool is_user(int fd, int directory)
{
    struct stat there, it;

    return fstatat(directory, "user", &there, 0) == 0 && fstat(fd, &it) == 0 &&
           it.st_ino == there.st_ino;
}

/* Open namespace NAME of the holder; *RET_FD is -1 if this process is in the same one.
 */
static int open_namespace(const struct spaces *spaces, const char *name, int *ret_fd)
{
    struct stat ours, theirs;

    *ret_fd = -1;
    if (fstatat(spaces->ours, name, &ours, 0) < 0)
        return errno == ENOENT ? 0 : -1; /* a kernel without it */
    if (fstatat(spaces->theirs, name, &theirs, 0) < 0)
        return -1;
    if (theirs.st_ino == ours.st_ino)
        return 0;
    *ret_fd = openat(spaces->theirs, name, O_RDONLY | O_CLOEXEC);
    return *ret_fd < 0 ? -1 : 0;
}

/* Open the user namespace that owns the container's mounts (ioctl_ns(2): it is closed
 * on exec), unless it is that of the holder or of this process. */
static int open_owner(const struct spaces *spaces, int mounts)
{
    int owner = mounts < 0 ? -1 : ioctl(mounts, NS_GET_USERNS);

    if (owner < 0 || (!is_user(owner, spaces->ours) && !is_user(owner, spaces->theirs)))
        return owner;
    close(owner);
    return -1;
}

/* A directory of /proc/PID stays that of the process that PID was when it was opened.
 */
static int open_directory(int at, const char *path)
{
    return openat(at, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool is_holder(int spaces, unsigned int mounts)
{
    struct stat status;

    if (fstatat(spaces, namespaces[MOUNTS], &status, 0) < 0)
        return false;
    errno = ESRCH;
    return status.st_ino == mounts;
}

static int open_spaces(int process, unsigned int mounts, struct container *container)
{
    BERTH_CLOSE int ours = open_directory(AT_FDCWD, "/proc/self/ns");
    BERTH_CLOSE int theirs = open_directory(process, "ns");
    const struct spaces spaces = {ours, theirs};

    if (ours < 0 || theirs < 0 || !is_holder(theirs, mounts) ||
        open_namespace(&spaces, "user", &container->user) < 0)
        return -1;
    for (int i = 0; i < COUNT; i++)
        if (open_namespace(&spaces, namespaces[i], &container->space[i]) < 0)
            return -1;
    container->owner = open_owner(&spaces, container->space[MOUNTS]);
    return 0;
}

/* Read the lines CapBnd and NoNewPrivs of /proc/PID/status. */
static int read_status(int process, struct container *container)
{
    int fd = openat(process, "status", O_RDONLY | O_CLOEXEC);
    char line[256];
    BERTH_FCLOSE FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

    if (!file)
        return -1;
    while (fgets(line, sizeof(line), file)) {
        if (berth_text_starts(line, "CapBnd:"))
            container->bound = strtoull(line + 7, NULL, 16);
        if (berth_text_starts(line, "NoNewPrivs:"))
            container->no_new_privs = atoi(line + 11);
    }
    return 0;
}

static int open_container(struct berth_holder holder, struct container *container)
{
    char path[64];
    BERTH_CLOSE int process = -1;

    snprintf(path, sizeof(path), "/proc/%d", holder.pid);
    process = open_directory(AT_FDCWD, path);
    if (process < 0 || open_spaces(process, holder.mounts, container) < 0)
        return -1;
    container->root = open_directory(process, "root");
    return container->root < 0 ? -1 : read_status(process, container);
}

static int enter(int space)
{
    return space < 0 ? 0 : setns(space, 0);
}

static int enter_namespaces(const struct container *container)
{
    if (enter(container->owner >= 0 ? container->owner : container->user) < 0)
        return -1;
    for (int i = 0; i < COUNT; i++)
        if (enter(container->space[i]) < 0)
            return -1;
    return 0;
}

static int enter_root(const struct container *container)
{
    return fchdir(container->root) < 0 || chroot(".") < 0 || chdir("/") < 0 ? -1 : 0;
}

/* The user namespace has given this process all capabilities until exec. Limit what the
 * next program gets to what the container gives its programs, also if its user id is 0
 * there. */
static void bound_capabilities(const struct container *container)
{
    for (int cap = 0; cap < 64; cap++)
        if (!(container->bound >> cap & 1) &&
            prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno == EINVAL)
            break; /* the kernel knows no more of them */
    if (container->no_new_privs)
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static void close_container(const struct container *container)
{
    if (container->user >= 0)
        close(container->user);
    if (container->owner >= 0)
        close(container->owner);
    for (int i = 0; i < COUNT; i++)
        if (container->space[i] >= 0)
            close(container->space[i]);
    close(container->root);
}

/* Enter as the owner of the mounts; AS_TASK: then also the user namespace of the tasks.
 */
static int join(struct berth_holder holder, bool as_task, struct berth_err *err)
{
    struct container container = {0};

    if (open_container(holder, &container) < 0)
        return berth_err_set(err, BERTH_JOIN_DEAD);
    if (enter_namespaces(&container) < 0 || enter_root(&container) < 0 ||
        (as_task && container.owner >= 0 && enter(container.user) < 0))
        return berth_err_set(err,
                             "cannot join the container: %s; with "
                             "runtime.share: no in berth.yaml no task joins one",
                             strerror(errno));
    berth_resolve_forget();
    bound_capabilities(&container);
    close_container(&container);
    return 0;
}

int berth_join(struct berth_holder holder, struct berth_err *err)
{
    return join(holder, true, err);
}

int berth_join_owner(struct berth_holder holder, struct berth_err *err)
{
    return join(holder, false, err);
}

const char *berth_join_why_not(pid_t holder)
{
    if (!berth_namespaces_differ(holder, "user"))
        return "the runtime is installed setuid and uses no user namespace "
               "(--container-args=--userns)";
    return berth_namespaces_differ(holder, "pid")
               ? "the container has a process namespace"
               : NULL;
}
