/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the image mounted while the application handles its signals. */

#include "task/guard.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "task/detach.h"

/* The programs that serve images, by the start of their names (comm). */
static const char *const servers[] = {"squashfuse", "fuse-overlayfs", "fuse2fs",
                                      "gocryptfs"};

static bool is_server(const char *name)
{
    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++)
        if (strncmp(name, servers[i], strlen(servers[i])) == 0)
            return true;
    return false;
}

/* Parent and name of process PID, from its stat file (proc(5)): `pid (name) state
 * ppid`. */
static bool read_stat(const char *pid, pid_t *ret_parent, char name[32])
{
    char path[300];
    char line[256];
    char *open, *close;
    size_t count;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    count = fread(line, 1, sizeof(line) - 1, file);
    fclose(file);
    line[count] = '\0';
    open = strchr(line, '(');
    close = strrchr(line, ')');
    if (!open || !close || sscanf(close + 1, " %*c %d", ret_parent) != 1)
        return false;
    *close = '\0';
    snprintf(name, 32, "%s", open + 1);
    return true;
}

static bool seize_if_server(const char *pid, pid_t runtime)
{
    pid_t parent;
    char name[32];

    return read_stat(pid, &parent, name) && parent == runtime && is_server(name) &&
           ptrace(PTRACE_SEIZE, (pid_t)atoi(pid), 0, PTRACE_O_TRACECLONE) == 0;
}

int berth_guard_seize(pid_t runtime)
{
    DIR *directory = opendir("/proc");
    struct dirent *entry;
    int count = 0;

    while (directory && (entry = readdir(directory)))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            count += seize_if_server(entry->d_name, runtime);
    if (directory)
        closedir(directory);
    return count;
}

/* May the signal that stopped PID reach it: from the kernel (a fault, a broken pipe) or
 * from the runtime, which ends it? */
static bool is_allowed(pid_t pid, pid_t runtime)
{
    siginfo_t info;

    if (ptrace(PTRACE_GETSIGINFO, pid, 0, &info) < 0)
        return true;
    return info.si_code > 0 || info.si_pid == runtime;
}

void berth_guard_go_on(pid_t pid, int status, pid_t runtime)
{
    int number = WSTOPSIG(status);
    int event = status >> 16;

    if (event == PTRACE_EVENT_STOP && number != SIGTRAP)
        ptrace(PTRACE_LISTEN, pid, 0, 0);
    else if (event)
        ptrace(PTRACE_CONT, pid, 0, 0);
    else
        ptrace(PTRACE_CONT, pid, 0, is_allowed(pid, runtime) ? number : 0);
}

void berth_guard_end_children(void)
{
    DIR *directory = opendir("/proc");
    struct dirent *entry;
    pid_t parent;
    char name[32];

    while (directory && (entry = readdir(directory)))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            read_stat(entry->d_name, &parent, name) && parent == getpid())
            kill((pid_t)atoi(entry->d_name), SIGKILL);
    if (directory)
        closedir(directory);
}

static void stand_guard(pid_t runtime)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, __WALL);

        if (pid < 0 && errno != EINTR)
            return;
        if (pid > 0 && WIFSTOPPED(status))
            berth_guard_go_on(pid, status, runtime);
    }
}

static void guard(int fd, pid_t runtime)
{
    char byte;

    berth_detach(&fd, 1, NULL);
    if (read(3, &byte, 1) != 1)
        return;
    berth_guard_seize(runtime);
    if (write(3, "", 1) < 0)
        return;
    close(3);
    stand_guard(runtime);
}

int berth_guard_start(struct berth_err *err)
{
    pid_t runtime = getpid();
    pid_t child;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        return berth_err_set(err, "cannot make a socket: %s", strerror(errno));
    child = fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        return berth_err_set(err, "cannot start a process: %s", strerror(errno));
    }
    if (child == 0) {
        close(ends[1]);
        if (fork() == 0)
            guard(ends[0], runtime);
        _exit(0);
    }
    close(ends[0]);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return ends[1];
}

void berth_guard_wait(int fd)
{
    char byte;

    if (write(fd, "", 1) == 1)
        while (read(fd, &byte, 1) < 0 && errno == EINTR)
            ;
    close(fd);
}
