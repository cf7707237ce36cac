/* SPDX-License-Identifier: Apache-2.0 */
/* Starts one container for the tasks of a step on a node, and stays with it. */

#include "launch/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "plan/envdiff.h"
#include "report/finding.h"
#include "probe/opened.h"
#include "base/detach.h"
#include "launch/guard.h"
#include "launch/inject.h"
#include "step/identity.h"
#include "step/limits.h"
#include "step/log.h"
#include "launch/precheck.h"
#include "step/program.h"
#include "launch/remains.h"
#include "launch/servers.h"
#include "step/spaces.h"
#include "launch/start.h"

extern char **environ;

/* The descriptors of the keeper, and of the runtime and berth-init up to READY. SAID is
 * a task's standard error, open only until the witness has it. */
enum {
    INIT = 3,
    TASKS,
    READY,
    ANSWER,
    LOG,
    MEMORY,
    ENDED, /* held until all that was started has ended */
    SAID,
    DESCRIPTORS = SAID - INIT + 1
};

struct keeper {
    struct berth_room *room;
    const struct berth_launch *launch;
    const char *directory;
    struct berth_strvec argv;
    sigset_t mask; /* of the task */
    pid_t runtime;
    struct berth_servers servers;
    pid_t holder;       /* berth-init in the container that tasks join */
    int space;          /* the mount namespace of that; -1: none */
    bool over;          /* the last task has ended */
    unsigned int apart; /* tasks that start a container each */
    pid_t parent;       /* of the tasks */
    struct berth_inject_witness witness;
};

/* In the process that becomes the runtime. */
static void become_runtime(const struct keeper *keeper)
{
    struct berth_err err;

    dup2(LOG, STDOUT_FILENO);
    dup2(LOG, STDERR_FILENO);
    for (int fd = ANSWER; fd <= SAID; fd++)
        close(fd);
    if (berth_start_enter(keeper->directory) < 0)
        dprintf(STDERR_FILENO, "%s: %s\n", keeper->directory, strerror(errno));
    sigprocmask(SIG_SETMASK, &keeper->mask, NULL);
    if (keeper->launch->unknown_user && berth_identity_provide(&err) < 0) {
        dprintf(STDERR_FILENO, "%s\n", err.text);
        _exit(EXIT_FAILURE);
    }
    execv(keeper->launch->runtime, keeper->argv.items);
    dprintf(STDERR_FILENO, "%s; ask the administrators to repair it\n",
            strerror(errno));
    _exit(EXIT_FAILURE);
}

/* A task may enter namespaces only through a user namespace that its user has made (so
 * not those of a setuid runtime), and cannot change its own process namespace. */
static const char *why_separate(pid_t holder)
{
    if (!berth_spaces_differ(holder, "user"))
        return "the runtime is installed setuid and uses no user namespace "
               "(--container-args=--userns)";
    return berth_spaces_differ(holder, "pid") ? "the container has a process namespace"
                                              : NULL;
}

/* Open, so that no other container gets its number. */
static int open_space(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* What came of it, for people; RESULT: or it is refused. */
static int note(struct keeper *keeper, const struct berth_injected *injected,
                int result, struct berth_err *err)
{
    if (result < 0)
        return berth_err_at(err, "image '%s': --mpi-bind=%s",
                            berth_request_name(keeper->launch->request),
                            keeper->launch->request->mpi);
    if (injected->note)
        berth_room_note(keeper->room, injected->note);
    if (injected->differs)
        berth_room_differ(keeper->room);
    if (injected->warning)
        berth_room_warn(keeper->room, injected->warning);
    return 0;
}

static int inject(struct keeper *keeper, pid_t holder, const struct berth_buf *after,
                  struct berth_injected *injected, struct berth_err *err)
{
    struct berth_inject inject = {.holder = holder,
                                  .launch = keeper->launch,
                                  .environment = after->text,
                                  .count = after->used,
                                  .apart = keeper->apart,
                                  .deadline = berth_room_deadline(keeper->room),
                                  .said = SAID,
                                  .tasks = berth_room_tasks(keeper->room),
                                  .parent = keeper->parent};
    int result = berth_inject(&inject, injected, err);

    close(SAID);
    if (result == 0) {
        keeper->witness = injected->witness;
        injected->witness = (struct berth_inject_witness){0};
    }
    return note(keeper, injected, result, err);
}

/* Nothing can be put into the containers, WHY; what the image has is looked at. */
static int precheck(struct keeper *keeper, const char *why,
                    struct berth_injected *injected, struct berth_err *err)
{
    const struct berth_request *request = keeper->launch->request;
    struct berth_precheck precheck = {.launch = keeper->launch,
                                      .why = why,
                                      .apart = keeper->apart,
                                      .mask = &keeper->mask,
                                      .seconds = berth_room_limit(keeper->room),
                                      .deadline = berth_room_deadline(keeper->room)};

    if (!berth_request_mpi_chosen(request))
        return 0;
    if (berth_request_mpi_must_host(request))
        return note(keeper, injected,
                    berth_err_set(err,
                                  "%s, so nothing can be mounted in its containers; "
                                  "choose --mpi-bind=hybrid",
                                  why),
                    err);
    return note(keeper, injected, berth_precheck(&precheck, injected, err), err);
}

static void push_finding(struct berth_strvec *list, const char *name, const char *text)
{
    berth_strvec_push(list, name);
    berth_strvec_push(list, text);
}

/* What the account of the launch needs to know of the container. */
static int tell(struct keeper *keeper, const struct berth_buf *after,
                const struct berth_injected *injected, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec variables = {0};
    BERTH_STRVEC struct berth_strvec list = {0};
    BERTH_BUF struct berth_buf text = {0};

    if (!berth_request_explained(keeper->launch->request))
        return 0;
    berth_environ_split(after->text, after->used, &variables);
    for (size_t i = 0; i < variables.count; i++)
        push_finding(&list, BERTH_FINDING_VARIABLE, variables.items[i]);
    for (size_t i = 0; i < injected->set.count; i++)
        push_finding(&list, BERTH_FINDING_SET, injected->set.items[i]);
    for (size_t i = 0; i + 1 < injected->binds.count; i += 2) {
        push_finding(&list, BERTH_FINDING_BIND, injected->binds.items[i]);
        push_finding(&list, BERTH_FINDING_OVER, injected->binds.items[i + 1]);
    }
    berth_strvec_append(&list, &injected->facts);
    berth_envdiff_flatten(list.items, &text);
    if (variables.failed || list.failed || text.failed)
        return berth_err_oom(err);
    return berth_room_tell(keeper->room, &text, err);
}

/* Let the tasks in. AFTER is the environment of the container. */
static int admit(struct keeper *keeper, pid_t holder, const struct berth_buf *after,
                 struct berth_err *err)
{
    BERTH_BUF struct berth_buf before = {0};
    struct berth_injected injected;
    int result;

    berth_envdiff_flatten(environ, &before);
    if (before.failed)
        return berth_err_oom(err);
    if (inject(keeper, holder, after, &injected, err) < 0)
        return -1;
    keeper->space = open_space(holder);
    berth_servers_seize(&keeper->servers);
    result = tell(keeper, after, &injected, err);
    if (result == 0)
        result =
            berth_room_ready(keeper->room, holder, &before, &injected.environment, err);
    berth_injected_fini(&injected);
    return result;
}

/* Each task starts a container of its own, WHY; this one was only to look into. */
static int send_away(struct keeper *keeper, pid_t holder, const struct berth_buf *after,
                     const char *why, struct berth_err *err)
{
    BERTH_BUF struct berth_buf set = {0};
    BERTH_BUF struct berth_buf binds = {0};
    struct berth_injected injected = {0};
    int result = 0;

    keeper->apart = berth_room_tasks(keeper->room);
    if (berth_spaces_differ(holder, "user"))
        result = inject(keeper, holder, after, &injected, err);
    else
        result = precheck(keeper, why, &injected, err);
    kill(holder, SIGKILL);
    if (result == 0)
        result = tell(keeper, after, &injected, err);
    berth_envdiff_flatten(injected.set.items, &set);
    berth_envdiff_flatten(injected.binds.items, &binds);
    berth_injected_fini(&injected);
    if (result < 0)
        return -1;
    if (set.failed || binds.failed)
        return berth_err_oom(err);
    if (berth_room_put(keeper->room, &set, &binds, err) < 0)
        return -1;
    return berth_room_separate(keeper->room, why, err);
}

/* Wait for berth-init in the container, and go on with the tasks. */
static int open_room(struct keeper *keeper, struct berth_err *err)
{
    BERTH_BUF struct berth_buf after = {0};
    const struct berth_launch *launch = keeper->launch;
    const char *why = berth_room_forbidden(keeper->room);
    struct berth_start start = {.launch = launch,
                                .runtime = keeper->runtime,
                                .log = LOG,
                                .answer = ANSWER,
                                .tasks = TASKS,
                                .seconds = berth_room_limit(keeper->room),
                                .deadline = berth_room_deadline(keeper->room)};
    pid_t holder = 0;

    if (berth_start_await(&start, &holder, &after, err) < 0)
        return -1;
    keeper->holder = holder;
    if (berth_servers_check(&keeper->servers, launch->terms->image,
                            launch->request->image, err) < 0)
        return -1;
    if (berth_servers_unpacked(&keeper->servers, launch->request->image))
        berth_room_unpack(keeper->room);
    if (!why)
        why = why_separate(holder);
    return why ? send_away(keeper, holder, &after, why, err)
               : admit(keeper, holder, &after, err);
}

/* The last task has ended. What is left in the container then has nobody who waits for
 * it: a child that lives on, a task whose slurmstepd was killed. The server of the
 * image ends when nobody holds the container, us included. */
static void end_container(struct keeper *keeper)
{
    keeper->over = true;
    if (keeper->witness.pid)
        close(keeper->witness.end);
    berth_guard_end_space(keeper->space, keeper->holder);
    if (keeper->space >= 0)
        close(keeper->space);
    keeper->space = -1;
}

/* Until one of our CHILDREN changes, the last task ends, or for MILLISECONDS. */
static void await_change(struct keeper *keeper, int children, int milliseconds)
{
    struct pollfd fds[] = {{.fd = children, .events = POLLIN},
                           {.fd = keeper->over ? -1 : TASKS, .events = POLLIN}};
    struct signalfd_siginfo child;

    if (poll(fds, 2, milliseconds) > 0 && fds[1].revents)
        end_container(keeper);
    while (read(children, &child, sizeof(child)) > 0)
        ;
}

/* What PID did, as waitpid() told it in STATUS. Returns whether the runtime has ended.
 */
static bool attend(const struct keeper *keeper, pid_t pid, int status)
{
    if (WIFSTOPPED(status)) {
        berth_guard_go_on(pid, status, keeper->runtime);
        return false;
    }
    if (pid == keeper->witness.pid)
        return false;
    if ((pid == keeper->runtime || WIFSIGNALED(status)) && !keeper->over)
        berth_room_lose(keeper->room);
    return pid == keeper->runtime;
}

/* The runtime and the last task have ended ROUNDS ago: what should have ended with them
 * ends, servers by a signal that lets them unmount first. */
static void end_left(struct keeper *keeper, int rounds)
{
    enum { PATIENCE = 10 };

    if (rounds <= PATIENCE)
        return;
    keeper->servers.runtime = getpid(); /* what it leaves is ours */
    berth_servers_end(&keeper->servers, rounds <= 2 * PATIENCE ? SIGTERM : SIGKILL);
    berth_guard_end_children();
}

/* Until the runtime, all that is traced and the last task have ended. The runtime ends
 * the programs that serve its image before itself; where it has not, it was killed:
 * they serve the tasks that run, and then nobody. */
static void stay(struct keeper *keeper)
{
    enum { LOOK_AGAIN_MS = 1000, PAUSE_MS = 50 };
    bool ended = false;
    int rounds = 0;
    int children, status;
    sigset_t signals;
    pid_t pid;

    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    children = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    while ((pid = waitpid(-1, &status, __WALL | WNOHANG)) >= 0) {
        if (pid > 0) {
            ended |= attend(keeper, pid, status);
            continue;
        }
        await_change(keeper, children,
                     ended && keeper->over ? PAUSE_MS : LOOK_AGAIN_MS);
        if (ended && keeper->over)
            end_left(keeper, ++rounds);
    }
    berth_servers_tidy(&keeper->servers);
    if (!keeper->holder)
        berth_remains_clear(keeper->launch->runtime);
    while (!keeper->over)
        await_change(keeper, children, -1);
}

/* A container that has started ends when its first process does; the runtime then takes
 * away what it has made. One that has not is killed. */
static void end_start(const struct keeper *keeper)
{
    if (keeper->holder)
        kill(keeper->holder, SIGKILL);
    else if (keeper->runtime > 0)
        berth_guard_end_tree(keeper->runtime);
}

static void keep(struct keeper *keeper, const int descriptors[])
{
    struct stat ready;
    struct berth_err err;

    berth_detach(descriptors, DESCRIPTORS, &keeper->mask);
    if (!berth_request_mpi_may_host(keeper->launch->request))
        close(SAID);
    berth_limits_raise(NULL);
    sched_setaffinity(0, sizeof(cpu_set_t), berth_room_cpus(keeper->room));
    keeper->room->memory = MEMORY;
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* what the runtime leaves comes to us */
    keeper->runtime = fork();
    if (keeper->runtime == 0)
        become_runtime(keeper);
    keeper->servers.runtime = keeper->runtime;
    if (fstat(READY, &ready) == 0)
        keeper->servers.socket = berth_opened_identity(&ready);
    close(INIT);
    close(READY);
    if (keeper->runtime < 0)
        berth_err_set(&err, "cannot start a process: %s", strerror(errno));
    if (keeper->runtime < 0 || open_room(keeper, &err) < 0) {
        berth_room_fail(keeper->room, &err);
        end_start(keeper);
    }
    stay(keeper);
}

/* All that the keeper needs, open. Returns 0, or -1 with a sentence in ERR. */
static int open_all(const struct berth_room *room, int fds[DESCRIPTORS],
                    struct berth_err *err)
{
    int on = 1;
    int ends[2];

    fds[INIT - INIT] = berth_program_open(err);
    if (fds[INIT - INIT] < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 ||
        setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
        return berth_err_set(err, "cannot make a socket: %s", strerror(errno));
    fds[TASKS - INIT] = room->tasks;
    fds[READY - INIT] = ends[1];
    fds[ANSWER - INIT] = ends[0];
    fds[LOG - INIT] = berth_log_open(err);
    fds[MEMORY - INIT] = room->memory;
    fds[ENDED - INIT] = room->ended;
    fds[SAID - INIT] = STDERR_FILENO;
    return fds[LOG - INIT] < 0 ? -1 : 0;
}

static void close_all(const int fds[DESCRIPTORS])
{
    close(fds[INIT - INIT]);
    close(fds[READY - INIT]);
    close(fds[ANSWER - INIT]);
    close(fds[LOG - INIT]);
}

static void hand_on(void *room, pid_t keeper)
{
    berth_room_hand_on(room, keeper);
}

int berth_keeper_start(struct berth_launch *launch, const char *directory,
                       struct berth_room *room, struct berth_err *err)
{
    struct keeper keeper = {.room = room,
                            .launch = launch,
                            .directory = directory,
                            .space = -1,
                            .parent = getppid()};
    int fds[DESCRIPTORS];
    char init[BERTH_PROGRAM_NAME];
    int result;

    berth_program_name(INIT, init);
    launch->init = init;
    if (berth_launch_holder_argv(launch, TASKS, READY, &keeper.argv, err) < 0 ||
        open_all(room, fds, err) < 0)
        return -1;
    result = berth_detach_fork(hand_on, room, err);
    if (result == 0) {
        keep(&keeper, fds);
        _exit(EXIT_SUCCESS); /* it is a copy of the task, and must not go on as one */
    }
    close_all(fds);
    berth_strvec_fini(&keeper.argv);
    return result < 0 ? -1 : 0;
}
