/* SPDX-License-Identifier: Apache-2.0 */
/* Enters a container that runs (setns(2), user_namespaces(7)). */

#include "container/join.h"

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
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/resolve.h"
#include "base/text.h"
#include "container/namespaces.h"

/* The namespaces, in the order in which a task enters them after the owner of the
 * mounts, which gives the right to enter the others. The mount namespace comes after
 * those before it, because it has another /proc. The process namespace holds for
 * children only; the process itself stays in its own. */
static const char *const namespaces[] = {"ipc",    "uts", "net", "pid",
                                         "cgroup", "mnt", "user"};

enum {
    COUNT = sizeof(namespaces) / sizeof(namespaces[0]),
    USER = COUNT - 1,
    MOUNTS = USER - 1
};

/* What a task needs of a container; all is opened before the task enters the first
 * namespace. */
struct container {
    int root;
    int space[COUNT]; /* -1: that of the task */
    int owner;        /* the user namespace of its mounts; -1: that of the task, or of
                         its processes */
    unsigned long long bound;
    int no_new_privs;
};

/* Open namespace NAME in the directory SPACES; *RET_FD is -1 if this process is in the
 * same one, or the kernel has none. */
static int open_namespace(int spaces, const char *name, int *ret_fd)
{
    int fd = openat(spaces, name, O_RDONLY | O_CLOEXEC);

    *ret_fd = -1;
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return -1;
    if (berth_namespaces_is_own(fd, name))
        return close(fd);
    *ret_fd = fd;
    return 0;
}

static bool is_same(int namespace, int other)
{
    struct stat one, two;

    if (fstat(namespace, &one) < 0 || fstat(other, &two) < 0)
        return false;
    return one.st_ino == two.st_ino;
}

/* Open the user namespace that owns the container's mounts (ioctl_ns(2): it is closed
 * on exec), unless it is that of the holder or of this process. */
static int open_owner(const struct container *container)
{
    int owner = ioctl(container->space[MOUNTS], NS_GET_USERNS);
    bool is_entered = berth_namespaces_is_own(owner, namespaces[USER]);

    if (is_entered || is_same(owner, container->space[USER])) {
        close(owner);
        return -1;
    }
    return owner;
}

/* A directory of /proc/PID stays that of the process that PID was when it was opened.
 */
static int open_directory(int at, const char *path)
{
    return openat(at, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* A process that has ended has no namespaces: so compare MOUNTS, the number of one, at
 * the end. */
static int open_spaces(int process, unsigned int mounts, struct container *container)
{
    BERTH_CLOSE int spaces = open_directory(process, "ns");
    struct stat status;

    for (int i = 0; i < COUNT; i++)
        if (open_namespace(spaces, namespaces[i], &container->space[i]) < 0)
            return -1;
    container->owner = open_owner(container);
    if (fstatat(spaces, namespaces[MOUNTS], &status, 0) < 0)
        return -1;
    if (status.st_ino != mounts)
        return -1;
    return 0;
}

/* Read the lines CapBnd and NoNewPrivs of /proc/PID/status. */
static int read_status(int process, struct container *container)
{
    int fd = openat(process, "status", O_RDONLY | O_CLOEXEC);
    char line[256];
    BERTH_FCLOSE FILE *file = NULL;

    if (fd >= 0)
        file = fdopen(fd, "r");
    if (!file)
        return -1;
    while (fgets(line, sizeof(line), file)) {
        const char *value = berth_text_after(line, ':');

        if (berth_text_starts(line, "CapBnd:"))
            container->bound = strtoull(value, NULL, 16);
        if (berth_text_starts(line, "NoNewPrivs:"))
            container->no_new_privs = atoi(value);
    }
    return 0;
}

static int open_container(struct berth_holder holder, struct container *container)
{
    char path[64];
    BERTH_CLOSE int process = -1;

    snprintf(path, sizeof(path), "/proc/%d", holder.pid);
    process = open_directory(AT_FDCWD, path);
    if (open_spaces(process, holder.mounts, container) < 0)
        return -1;
    container->root = open_directory(process, "root");
    if (container->root < 0)
        return -1;
    return read_status(process, container);
}

/* Enter SPACE; -1: this process is in it already. */
static int enter(int space)
{
    if (space < 0)
        return 0;
    return setns(space, 0);
}

static int enter_namespaces(const struct container *container)
{
    int first = container->owner;

    if (first < 0)
        first = container->space[USER];
    if (enter(first) < 0)
        return -1;
    for (int i = 0; i < USER; i++)
        if (enter(container->space[i]) < 0)
            return -1;
    return 0;
}

static int enter_root(const struct container *container)
{
    if (fchdir(container->root) < 0 || chroot(".") < 0)
        return -1;
    return chdir("/");
}

/* The user namespace has given this process all capabilities until exec. Limit what the
 * next program gets to what the container gives its programs, also if its user id is 0
 * there. */
static void bound_capabilities(const struct container *container)
{
    enum { MOST = 64 };

    for (int cap = 0; cap < MOST; cap++) {
        bool is_bound = (container->bound >> cap & 1) != 0;

        if (is_bound)
            continue;
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno == EINVAL)
            break; /* the kernel knows no more of them */
    }
    if (container->no_new_privs)
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static void close_container(const struct container *container)
{
    for (int i = 0; i < COUNT; i++)
        if (container->space[i] >= 0)
            close(container->space[i]);
    if (container->owner >= 0)
        close(container->owner);
    close(container->root);
}

/* Enter the namespaces and the root; AS_TASK: also the user namespace of the tasks, if
 * the mounts belong to another one. Returns 0, or -1 with errno. */
static int enter_all(const struct container *container, bool as_task)
{
    if (enter_namespaces(container) < 0 || enter_root(container) < 0)
        return -1;
    if (as_task && container->owner >= 0)
        return enter(container->space[USER]);
    return 0;
}

/* The same as join(), which has raised the limit of descriptors. */
static int open_and_enter(struct berth_holder holder, bool as_task,
                          struct berth_err *err)
{
    struct container container = {0};

    if (open_container(holder, &container) < 0)
        return berth_err_set(err, BERTH_JOIN_DEAD);

    /* until exec this process has files of the host, its program for one, which a
     * program of the image that is root in the container could open by tracing it
     * (ptrace(2)) */
    prctl(PR_SET_DUMPABLE, 0);
    if (enter_all(&container, as_task) < 0)
        return berth_err_set(err,
                             "cannot join the container: %s; with "
                             "runtime.share: no in berth.yaml no task joins one",
                             strerror(errno));
    berth_resolve_forget();
    bound_capabilities(&container);
    close_container(&container);
    return 0;
}

/* Enter as the owner of the mounts; AS_TASK: then also the user namespace of the tasks.
 * The soft limit of descriptors is for the command of the task. */
static int join(struct berth_holder holder, bool as_task, struct berth_err *err)
{
    struct rlimit usual, raised;
    int result;

    if (getrlimit(RLIMIT_NOFILE, &usual) < 0)
        return berth_err_spent(err, errno);
    raised = (struct rlimit){usual.rlim_max, usual.rlim_max};
    setrlimit(RLIMIT_NOFILE, &raised);
    result = open_and_enter(holder, as_task, err);
    setrlimit(RLIMIT_NOFILE, &usual);
    return result;
}

int berth_join(struct berth_holder holder, struct berth_err *err)
{
    return join(holder, true, err);
}

int berth_join_owner(struct berth_holder holder, struct berth_err *err)
{
    return join(holder, false, err);
}

int berth_join_owner_user(struct berth_holder holder)
{
    BERTH_CLOSE int mounts = berth_namespaces_open(holder.pid, namespaces[MOUNTS]);
    BERTH_CLOSE int owner = ioctl(mounts, NS_GET_USERNS);
    struct stat status;

    if (owner < 0 || fstat(mounts, &status) < 0 || status.st_ino != holder.mounts)
        return -1;
    prctl(PR_SET_DUMPABLE, 0);
    return setns(owner, CLONE_NEWUSER);
}

const char *berth_join_why_not(pid_t holder)
{
    if (!berth_namespaces_differ(holder, "user"))
        return "the runtime is installed setuid and uses no user namespace "
               "(--container-args=--userns)";
    if (berth_namespaces_differ(holder, "pid"))
        return "the container has a process namespace";
    return NULL;
}
