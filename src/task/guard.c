/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the image mounted while the application handles its signals. */

#include "task/guard.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/text.h"
#include "probe/opened.h"
#include "task/detach.h"
#include "task/log.h"
#include "task/report.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 /* Linux 5.3, the same number everywhere */
#endif

/* The programs that serve images, by the start of their names (comm). */
static const char *const servers[] = {"squashfuse", "fuse-overlayfs", "fuse2fs",
                                      "gocryptfs", NULL};

static bool is_server(const char *name)
{
    return berth_text_starts_any(name, servers);
}

/* What proc(5) tells of a process in its stat file: `pid (name) state ppid`. */
struct process {
    pid_t pid;
    pid_t parent;
    char name[32];
};

static bool read_stat(const char *pid, struct process *ret)
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
    if (!open || !close || sscanf(close + 1, " %*c %d", &ret->parent) != 1)
        return false;
    *close = '\0';
    ret->pid = (pid_t)atoi(pid);
    snprintf(ret->name, sizeof(ret->name), "%s", open + 1);
    return true;
}

/* What a process is looked at for: its parent, an open socket, its mount namespace and
 * that it is not BUT. */
struct wanted {
    pid_t parent;
    ino_t socket;
    ino_t space;
    pid_t but;
};

/* Call VISIT with every process and WANTED; returns how often it said true. */
static int count_processes(bool (*visit)(const struct process *, const struct wanted *),
                           const struct wanted *wanted)
{
    DIR *directory = opendir("/proc");
    struct dirent *entry;
    struct process process;
    int count = 0;

    while (directory && (entry = readdir(directory)))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            read_stat(entry->d_name, &process))
            count += visit(&process, wanted);
    if (directory)
        closedir(directory);
    return count;
}

/* Trace the threads of PID that are not traced yet; returns how many. */
static int seize_threads(pid_t pid)
{
    char path[64];
    struct dirent *entry;
    DIR *directory;
    int count = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    directory = opendir(path);
    while (directory && (entry = readdir(directory)))
        count += entry->d_name[0] != '.' &&
                 ptrace(PTRACE_SEIZE, atoi(entry->d_name), 0, PTRACE_O_TRACECLONE) == 0;
    if (directory)
        closedir(directory);
    return count;
}

/* A signal to a process goes to any of its threads, to another one while the first is
 * stopped for its tracer. What a thread starts is traced if itself is, so there are
 * none when a look at all of them finds none. */
static bool seize_server(const struct process *process, const struct wanted *wanted)
{
    bool seized = false;

    if (process->parent != wanted->parent || !is_server(process->name))
        return false;
    while (seize_threads(process->pid) > 0)
        seized = true;
    return seized;
}

int berth_guard_seize(pid_t runtime)
{
    const struct wanted wanted = {.parent = runtime};

    return count_processes(seize_server, &wanted);
}

static bool kill_child(const struct process *process, const struct wanted *wanted)
{
    return process->parent == wanted->parent && kill(process->pid, SIGKILL) == 0;
}

void berth_guard_end_children(void)
{
    const struct wanted wanted = {.parent = getpid()};

    count_processes(kill_child, &wanted);
}

static bool kill_in_space(const struct process *process, const struct wanted *wanted)
{
    char path[64];
    struct stat space;

    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", process->pid);
    return process->pid != wanted->but && stat(path, &space) == 0 &&
           space.st_ino == wanted->space && kill(process->pid, SIGKILL) == 0;
}

void berth_guard_end_space(int space, pid_t but)
{
    enum { ROUNDS = 10 }; /* one that we see may start one that we do not */
    struct wanted wanted = {.but = but};
    struct stat status;

    if (fstat(space, &status) < 0)
        return;
    wanted.space = status.st_ino;
    for (int i = 0; i < ROUNDS && count_processes(kill_in_space, &wanted) > 0; i++)
        ;
}

/* A child, a child's child, ... */
static bool kill_descendant(const struct process *process, const struct wanted *wanted)
{
    struct process above = *process;
    char parent[16];

    while (above.parent > 1 && above.parent != wanted->parent) {
        snprintf(parent, sizeof(parent), "%d", above.parent);
        if (!read_stat(parent, &above))
            return false;
    }
    return above.parent == wanted->parent && kill(process->pid, SIGKILL) == 0;
}

static bool kill_tree(pid_t pid)
{
    const struct wanted wanted = {.parent = pid};

    kill(pid, SIGSTOP);
    count_processes(kill_descendant, &wanted);
    return kill(pid, SIGKILL) == 0;
}

/* Is THREAD one of PROCESS? */
static bool is_thread_of(pid_t thread, pid_t process)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%d", process, thread);
    return access(path, F_OK) == 0;
}

/* May the signal that stopped the thread PID reach it: from the kernel (a fault, a
 * broken pipe), from the runtime, which ends it, or from another thread of its process,
 * which ends its workers so (pthread_cancel(3))? */
static bool is_allowed(pid_t pid, pid_t runtime)
{
    siginfo_t info;

    if (ptrace(PTRACE_GETSIGINFO, pid, 0, &info) < 0)
        return true;
    return info.si_code > 0 || info.si_pid == runtime || is_thread_of(pid, info.si_pid);
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

static bool has_socket(pid_t pid, ino_t socket)
{
    char path[300];
    struct dirent *entry;
    struct stat status;
    bool found = false;
    DIR *directory;

    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    directory = opendir(path);
    while (directory && !found && (entry = readdir(directory)))
        found = fstatat(dirfd(directory), entry->d_name, &status, 0) == 0 &&
                S_ISSOCK(status.st_mode) && status.st_ino == socket;
    if (directory)
        closedir(directory);
    return found;
}

/* The servers that a killed runtime leaves have another parent by now, but still the
 * descriptor that they inherited: berth-init's side of our socket. */
static bool is_left(const struct process *process, const struct wanted *wanted)
{
    return is_server(process->name) && has_socket(process->pid, wanted->socket);
}

static bool kill_left(const struct process *process, const struct wanted *wanted)
{
    return is_left(process, wanted) && kill(process->pid, SIGKILL) == 0;
}

/* Let go on what has stopped, and forget what has ended. */
static void attend(pid_t runtime)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
        if (WIFSTOPPED(status))
            berth_guard_go_on(pid, status, runtime);
}

/* The runtime has ended. It ends its servers first, unless it was killed. */
static void end_servers(pid_t runtime, const struct wanted *wanted)
{
    enum { PAUSE_MS = 50, PATIENCE = 10 };

    for (int i = 0; count_processes(is_left, wanted) > 0; i++) {
        if (i >= PATIENCE)
            count_processes(kill_left, wanted);
        if (i >= 2 * PATIENCE)
            return;
        poll(NULL, 0, PAUSE_MS);
        attend(runtime);
    }
}

/* The descriptors of a guard: berth-init's question, the standard error of the task,
 * what the runtime says, who may report, whether slurmstepd is there, and that we are.
 */
enum { ASK = 3, SAY, LOG, REPORT, TASKS, ENDED, DESCRIPTORS = ENDED - ASK + 1 };

struct watch {
    const struct berth_launch *launch;
    pid_t runtime;
    struct wanted servers_left;
    struct berth_guard guard;
    struct berth_deadline deadline; /* of the start */
    bool started;                   /* the container has */
    bool late;
    struct berth_err exchanged; /* what is said if the image was; text "": it was not */
};

/* berth-init asks whether we are on duty. */
static void answer(struct watch *watch)
{
    const struct berth_launch *launch = watch->launch;
    char byte;

    if (read(ASK, &byte, 1) == 1) {
        if (berth_opened_check(watch->runtime, launch->terms->image,
                               launch->request->image, &watch->exchanged) < 0) {
            kill_tree(watch->runtime);
            return;
        }
        watch->started = true;
        berth_guard_seize(watch->runtime);
        send(ASK, "", 1, MSG_NOSIGNAL);
        close(SAY); /* it is the application's from now on */
    }
    close(ASK);
}

/* The runtime has ended, and the container had not started. One that was killed, with
 * its step, says nothing. */
static void report_end(const struct watch *watch)
{
    struct berth_err err = watch->exchanged;
    struct stat log = {0};

    fstat(LOG, &log);
    if (watch->late)
        berth_log_too_late(watch->launch, watch->guard.limit, &err);
    else if (!*err.text && log.st_size > 0)
        berth_log_explain(LOG, watch->launch, &err);
    dup2(SAY, STDERR_FILENO);
    if (*err.text)
        berth_report(watch->launch->report < 0 ? -1 : REPORT, watch->launch->node,
                     &err);
}

static bool is_late(struct watch *watch)
{
    return watch->guard.limit && !watch->started && !watch->late &&
           berth_deadline_left(&watch->deadline) < 0;
}

static void await_end(struct watch *watch)
{
    enum { LOOK_AGAIN_MS = 1000 }; /* where the kernel has no pidfd */
    struct pollfd fds[4] = {{.events = POLLIN}, {.events = POLLIN}, {.events = POLLIN}};
    struct signalfd_siginfo child;
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    fds[0].fd = ASK;
    fds[1].fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    fds[2].fd = (int)syscall(SYS_pidfd_open, watch->runtime, 0);
    fds[3].fd = watch->guard.tasks < 0 ? -1 : TASKS;
    while (!fds[2].revents && kill(watch->runtime, 0) == 0) {
        poll(fds, 4, watch->started ? LOOK_AGAIN_MS : BERTH_DEADLINE_LOOK_MS);
        if (fds[0].revents) {
            answer(watch);
            fds[0].fd = -1;
            fds[0].revents = 0;
        }
        if (is_late(watch))
            watch->late = kill_tree(watch->runtime);
        if (fds[3].revents) { /* slurmstepd was killed */
            kill_tree(watch->runtime);
            fds[3].fd = -1;
            fds[3].revents = 0;
        }
        while (read(fds[1].fd, &child, sizeof(child)) > 0)
            ;
        attend(watch->runtime);
    }
}

static void guard(struct watch *watch, const int descriptors[])
{
    berth_detach(descriptors, DESCRIPTORS, NULL);
    berth_deadline_begin(&watch->deadline, watch->guard.limit);
    await_end(watch);
    if (!watch->started)
        report_end(watch);
    end_servers(watch->runtime, &watch->servers_left);
}

int berth_guard_start(const struct berth_launch *launch, const struct berth_guard *what,
                      struct berth_err *err)
{
    struct watch watch = {.launch = launch, .runtime = getpid(), .guard = *what};
    struct stat status;
    pid_t child;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 || fstat(ends[1], &status) < 0)
        return berth_err_set(err, "cannot make a socket: %s", strerror(errno));
    watch.servers_left.socket = status.st_ino;
    child = fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        return berth_err_set(err, "cannot start a process: %s", strerror(errno));
    }
    if (child == 0) {
        const int descriptors[] = {ends[0],        dup(STDERR_FILENO), what->log,
                                   launch->report, what->tasks,        what->ended};

        close(ends[1]);
        if (fork() == 0)
            guard(&watch, descriptors);
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
