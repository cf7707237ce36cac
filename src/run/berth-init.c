/* SPDX-License-Identifier: Apache-2.0 */
/* berth-init: the only program of berth that runs in an image. It is linked statically,
 * because the image may have no C library and no shell. It holds a container for the
 * tasks that join it. */

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "container/mountcheck.h"
#include "container/program.h"

extern char **environ;

struct init {
    int tasks; /* end of file: the last task has ended */
    int ready; /* where the environment goes */
    int inner; /* the user namespace of the tasks; -1: that of this process */
};

/* Read `--hold` and its three descriptors; -1: none. The last argument is for `berth
 * ps` (plan/launch.h). */
static int read_arguments(int argc, char **argv, struct init *init)
{
    if (argc != 6 || strcmp(argv[1], "--hold") != 0)
        return -1;
    init->tasks = atoi(argv[2]);
    init->ready = atoi(argv[3]);
    init->inner = atoi(argv[4]);
    return 0;
}

static bool read_all(int fd, void *bytes, size_t count)
{
    char *next = bytes;

    while (count > 0) {
        ssize_t got = read(fd, next, count);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        next += got;
        count -= (size_t)got;
    }
    return true;
}

static struct berth_mountcheck_seen look_at(const char *place)
{
    struct berth_mountcheck_seen seen = {0};
    struct statvfs system;
    struct stat status;

    if (stat(place, &status) < 0 || statvfs(place, &system) < 0) {
        seen.error = errno;
        return seen;
    }
    seen.device = status.st_dev;
    seen.inode = status.st_ino;
    seen.special = status.st_rdev;
    seen.is_read_only = (system.f_flag & ST_RDONLY) != 0;
    return seen;
}

static bool write_all(int fd, const void *bytes, size_t count)
{
    return berth_fd_write(fd, bytes, count) == 0;
}

/* Read the places of mounts, and send what is there (container/mountcheck.h). */
static bool show_places(int fd)
{
    BERTH_FREE char *places = NULL;
    const char *place;
    uint32_t size;

    if (!read_all(fd, &size, sizeof(size)) || size > BERTH_MOUNTCHECK_MOST)
        return false;
    places = calloc(size + 1, 1);
    if (!places || !read_all(fd, places, size))
        return false;

    place = places;
    while (place < places + size) {
        const struct berth_mountcheck_seen seen = look_at(place);

        if (!write_all(fd, &seen, sizeof(seen)))
            return false;
        place += strlen(place) + 1;
    }
    return true;
}

/* Tell the supervisor that this process holds the container: send a byte, with which
 * the kernel tells its process id, and what is at the places of mounts; then the size
 * of the environment, and the environment. */
static bool report(int fd)
{
    BERTH_BUF struct berth_buf text = {0};
    uint32_t count;

    berth_program_unset_gogc();
    berth_environ_join(environ, &text);
    if (text.failed)
        return false;
    count = (uint32_t)text.used;

    if (!write_all(fd, "!", 1) || !show_places(fd))
        return false;
    return write_all(fd, &count, sizeof(count)) && write_all(fd, text.text, count);
}

/* Enter the user namespace INNER with no capability: the kernel gives all of them to a
 * process that enters one (user_namespaces(7)). The bounding set stays what it was. */
static int enter_namespace(int inner)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    enum { MOST = 64 };
    bool is_bound[MOST];

    for (int cap = 0; cap < MOST; cap++)
        is_bound[cap] = prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1;
    if (setns(inner, CLONE_NEWUSER) < 0)
        return -1;
    /* fails for numbers that the kernel does not know, of which there is nothing to
     * drop */
    for (int cap = 0; cap < MOST; cap++)
        if (!is_bound[cap])
            prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    return (int)syscall(SYS_capset, &header, none);
}

/* From the outer user namespace of container/outer.h, in which the runtime is, into
 * that of the tasks. Standard error is the runtime's log. */
static int enter_inner(int inner)
{
    if (inner < 0)
        return 0;
    if (enter_namespace(inner) < 0) {
        dprintf(STDERR_FILENO, "cannot enter the user namespace of the tasks: %s\n",
                strerror(errno));
        return -1;
    }
    close(inner);
    return 0;
}

/* Hold the container until the last task has ended. Signals are for the application, so
 * all are blocked; this process ends when the runtime is killed. */
static int hold(const struct init *init)
{
    sigset_t all;
    ssize_t got;
    char byte;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    if (enter_inner(init->inner) < 0)
        return EXIT_FAILURE;
    prctl(PR_SET_NAME, "berth-init");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    if (!report(init->ready))
        return EXIT_FAILURE;
    close(init->ready);
    close(BERTH_PROGRAM_INIT);

    do {
        got = read(init->tasks, &byte, 1);
    } while (got < 0 && errno == EINTR);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct init init;

    if (berth_program_prints_version("berth-init", argc, argv))
        return EXIT_SUCCESS;
    if (read_arguments(argc, argv, &init) == 0)
        return hold(&init);
    dprintf(STDERR_FILENO,
            "berth: %s: wrong arguments; only berth-start can start this program\n",
            "berth-init");
    return EXIT_FAILURE;
}
