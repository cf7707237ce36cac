/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the image mounted while the application handles its signals. */

#include "launch/guard.h"

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
#include <sys/wait.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/text.h"
#include "probe/opened.h"
#include "base/detach.h"
#include "step/log.h"
#include "step/processes.h"
#include "launch/remains.h"
#include "step/report.h"
#include "launch/servers.h"
#include "launch/notice.h"

static bool kill_child(const struct berth_process *process, void *parent)
{
    return process->parent == *(const pid_t *)parent &&
           !berth_servers_has_name(process->name) && kill(process->pid, SIGKILL) == 0;
}

void berth_guard_end_children(void)
{
    pid_t self = getpid();

    berth_processes_visit(kill_child, &self);
}

/* A mount namespace, and a process in it that goes on. */
struct space {
    ino_t number;
    pid_t but;
};

static bool kill_in_space(const struct berth_process *process, void *data)
{
    const struct space *wanted = data;
    char path[64];
    struct stat space;

    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", process->pid);
    return process->pid != wanted->but && stat(path, &space) == 0 &&
           space.st_ino == wanted->number && kill(process->pid, SIGKILL) == 0;
}

void berth_guard_end_space(int space, pid_t but)
{
    enum { ROUNDS = 10 }; /* one that we see may start one that we do not */
    struct space wanted = {.but = but};
    struct stat status;

    if (fstat(space, &status) < 0)
        return;
    wanted.number = status.st_ino;
    for (int i = 0; i < ROUNDS && berth_processes_visit(kill_in_space, &wanted) > 0;
         i++)
        ;
}

/* A server detaches itself when it has mounted, and lets fusermount mount: who kills
 * the one or the other in between leaves a mount without a server. */
static bool is_mounting(const struct berth_process *process, pid_t runtime)
{
    struct berth_process above;
    char parent[16];

    snprintf(parent, sizeof(parent), "%d", process->parent);
    return berth_text_starts(process->name, "fusermount") ||
           (berth_servers_has_name(process->name) &&
            (process->parent == runtime || (berth_process_read(parent, &above) &&
                                            berth_servers_has_name(above.name))));
}

/* A child, a child's child, ... A server is told to end later, so that it can unmount.
 */
static bool kill_descendant(const struct berth_process *process, void *data)
{
    struct berth_process above = *process;
    pid_t parent = *(const pid_t *)data;
    char name[16];

    if (is_mounting(process, parent))
        return false;
    while (above.parent > 1 && above.parent != parent) {
        snprintf(name, sizeof(name), "%d", above.parent);
        if (!berth_process_read(name, &above))
            return false;
    }
    return above.parent == parent && kill(process->pid, SIGKILL) == 0;
}

bool berth_guard_end_tree(pid_t pid)
{
    kill(pid, SIGSTOP);
    berth_processes_visit(kill_descendant, &pid);
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
 * broken pipe), from the runtime or from us, who end it, or from another thread of its
 * process, which ends its workers so (pthread_cancel(3))? */
static bool is_allowed(pid_t pid, pid_t runtime)
{
    siginfo_t info;

    if (ptrace(PTRACE_GETSIGINFO, pid, 0, &info) < 0)
        return true;
    return info.si_code > 0 || info.si_pid == runtime || info.si_pid == getpid() ||
           is_thread_of(pid, info.si_pid);
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
static void end_servers(struct berth_servers *servers)
{
    enum { PAUSE_MS = 50, PATIENCE = 10 };

    for (int i = 0; i < 3 * PATIENCE && berth_servers_count(servers) > 0; i++) {
        if (i >= PATIENCE)
            berth_servers_end(servers, i < 2 * PATIENCE ? SIGTERM : SIGKILL);
        poll(NULL, 0, PAUSE_MS);
        attend(servers->runtime);
    }
    berth_servers_tidy(servers);
}

/* The descriptors of a guard: berth-init's question, the standard error of the task,
 * what the runtime says, who may report, whether slurmstepd is there, and that we are.
 */
enum { ASK = 3, SAY, LOG, REPORT, TASKS, ENDED, DESCRIPTORS = ENDED - ASK + 1 };

struct watch {
    const struct berth_launch *launch;
    pid_t runtime;
    struct berth_servers servers;
    struct berth_guard guard;
    struct berth_deadline deadline; /* of the start */
    bool started;                   /* the container has */
    bool late;
    struct berth_err exchanged; /* what is said if the image was; text "": it was not */
    int ends[2];                /* in the task: of the guard, and of berth-init */
};

/* Once for the tasks of a node. */
static void tell_unpacked(struct watch *watch)
{
    const struct berth_launch *launch = watch->launch;

    if (berth_servers_unpacked(&watch->servers, launch->request->image) &&
        (!watch->guard.rendezvous || berth_rendezvous_unpack(watch->guard.rendezvous)))
        dprintf(SAY, BERTH_NOTICE_UNPACKED, launch->node,
                berth_request_name(launch->request));
}

/* berth-init asks whether we are on duty. If it is not to go on, it ends, and then the
 * runtime does, which takes away what it has made. */
static void answer(struct watch *watch)
{
    enum { PATIENCE = 5 };
    const struct berth_launch *launch = watch->launch;
    char byte;

    if (read(ASK, &byte, 1) == 1) {
        if (berth_servers_check(&watch->servers, launch->terms->image,
                                launch->request->image, &watch->exchanged) < 0) {
            send(ASK, (char[]){BERTH_GUARD_REFUSES}, 1, MSG_NOSIGNAL);
            watch->guard.limit = PATIENCE;
            berth_deadline_begin(&watch->deadline, PATIENCE);
            close(ASK);
            return;
        }
        tell_unpacked(watch);
        watch->started = true;
        berth_servers_seize(&watch->servers);
        send(ASK, (char[]){BERTH_GUARD_GUARDS}, 1, MSG_NOSIGNAL);
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
    if (watch->late && !*err.text)
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
    fds[2].fd = berth_process_open(watch->runtime);
    fds[3].fd = watch->guard.tasks < 0 ? -1 : TASKS;
    while (!fds[2].revents && kill(watch->runtime, 0) == 0) {
        poll(fds, 4, watch->started ? LOOK_AGAIN_MS : BERTH_DEADLINE_LOOK_MS);
        if (fds[0].revents) {
            answer(watch);
            fds[0].fd = -1;
            fds[0].revents = 0;
        }
        if (is_late(watch))
            watch->late = berth_guard_end_tree(watch->runtime);
        if (fds[3].revents) { /* slurmstepd was killed */
            berth_guard_end_tree(watch->runtime);
            fds[3].fd = -1;
            fds[3].revents = 0;
        }
        while (read(fds[1].fd, &child, sizeof(child)) > 0)
            ;
        attend(watch->runtime);
    }
}

static void guard(void *data)
{
    struct watch *watch = data;
    const int descriptors[] = {watch->ends[0],     dup(STDERR_FILENO),
                               watch->guard.log,   watch->launch->report,
                               watch->guard.tasks, watch->guard.ended};

    close(watch->ends[1]);
    berth_detach(descriptors, DESCRIPTORS, NULL);
    berth_deadline_begin(&watch->deadline, watch->guard.limit);
    await_end(watch);
    if (!watch->started)
        report_end(watch);
    end_servers(&watch->servers);
    if (!watch->started)
        berth_remains_clear(watch->launch->runtime);
}

int berth_guard_start(const struct berth_launch *launch, const struct berth_guard *what,
                      struct berth_err *err)
{
    struct watch watch = {.launch = launch,
                          .runtime = getpid(),
                          .guard = *what,
                          .servers = {.runtime = getpid()}};
    struct stat status;
    int result;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, watch.ends) < 0 ||
        fstat(watch.ends[1], &status) < 0)
        return berth_err_set(err, "cannot make a socket: %s", strerror(errno));
    watch.servers.socket = berth_opened_identity(&status);
    result = berth_detach_run(guard, NULL, &watch, err);
    close(watch.ends[0]);
    if (result < 0)
        close(watch.ends[1]);
    return result < 0 ? -1 : watch.ends[1];
}
