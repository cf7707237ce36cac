/* SPDX-License-Identifier: Apache-2.0 */
/* Separates a process of berth from the task that started it: its descriptors, session,
 * directory and signals. */

#include "base/detach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/run.h"

enum { FIRST = 3, MOST = 8 };

/* With fewer descriptors no process of berth can start a container: measured with
 * Apptainer 1.4.5. */
enum { LEAST = 24 };
enum { ON_EXEC = 1u << 2 }; /* CLOSE_RANGE_CLOEXEC */

/* close_range(2): Linux 5.9, and 5.11 for FLAGS. */
static bool change_range(int first, unsigned int flags)
{
#ifdef SYS_close_range
    return syscall(SYS_close_range, first, ~0U, flags) == 0;
#else
    (void)first;
    (void)flags;
    return false;
#endif
}

/* Close every descriptor from FIRST on, or, with ON_EXEC in FLAGS, mark it. */
static void change_from(int first, unsigned int flags)
{
    BERTH_CLOSEDIR DIR *directory = NULL;

    if (change_range(first, flags))
        return;
    directory = opendir("/proc/self/fd");
    if (!directory)
        return;
    for (;;) {
        const struct dirent *entry = readdir(directory);
        int fd;

        if (!entry)
            return;
        fd = atoi(entry->d_name); /* 0 for . and .., which is below FIRST */
        if (fd < first || fd == dirfd(directory))
            continue;
        if (flags)
            fcntl(fd, F_SETFD, FD_CLOEXEC);
        else
            close(fd);
    }
}

void berth_close_from(int first)
{
    change_from(first, 0);
}

void berth_cloexec_from(int first)
{
    change_from(first, ON_EXEC);
}

/* The user's soft limit is for tasks, and may be below the numbers that are taken here
 * for a moment. */
static void raise_limit(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

/* Moves all descriptors above their new numbers first: one may have the new number of
 * another. */
void berth_close_others(const int keep[], size_t count)
{
    int moved[MOST];

    raise_limit();
    for (size_t i = 0; i < count; i++)
        moved[i] = fcntl(keep[i], F_DUPFD, FIRST + MOST);
    for (size_t i = 0; i < count; i++)
        if (dup2(moved[i], FIRST + (int)i) < 0)
            close(FIRST + (int)i); /* not open; the number may be a task's */
    berth_close_from(FIRST + (int)count);
}

int berth_detach(const int keep[], size_t count, sigset_t *ret_mask)
{
    sigset_t all;
    int null;

    /* Before 0, 1 and 2 are replaced: a task may have closed these, so that KEEP names
     * them. */
    berth_close_others(keep, count);
    null = open("/dev/null", O_RDWR);
    if (null < 0)
        return -1;
    for (int i = 0; i < FIRST; i++)
        dup2(null, i);
    if (null >= FIRST)
        close(null);
    setsid();
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, ret_mask);
    (void)!chdir("/"); /* harmless if it fails: the old directory stays in use */
    return 0;
}

/* The child of berth_detach_run(): starts the process that does not end with it. */
_Noreturn static void start_and_end(void (*body)(void *data),
                                    void (*born)(void *data, pid_t pid), void *data)
{
    pid_t pid = fork();

    if (pid < 0)
        _exit(EXIT_FAILURE);
    if (pid == 0) {
        body(data);
        _exit(EXIT_SUCCESS);
    }
    if (born)
        born(data, pid);
    _exit(EXIT_SUCCESS);
}

int berth_detach_run(void (*body)(void *data), void (*born)(void *data, pid_t pid),
                     void *data, struct berth_err *err)
{
    struct rlimit files;
    pid_t child;

    /* BODY runs where it can report nothing */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < LEAST)
        return berth_err_spent(err, EMFILE);
    child = fork();
    if (child < 0)
        return berth_err_spent(err, errno);
    if (child == 0)
        start_and_end(body, born, data);
    if (berth_run_wait(child) != 0)
        return berth_err_spent(err, EAGAIN);
    return 0;
}
