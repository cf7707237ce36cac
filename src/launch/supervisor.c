/* SPDX-License-Identifier: Apache-2.0 */
/* Starts one container for the tasks of a step on a node, and stays with it. */

#include "launch/supervisor.h"

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
#include "step/namespaces.h"
#include "launch/start.h"

extern char **environ;

/* The descriptors of the supervisor, and of the runtime and berth-init up to READY.
 * SAID is a task's standard error, open only until the witness has it. */
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

struct supervisor {
    struct berth_rendezvous *rendezvous;
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
    int fds[DESCRIPTORS]; /* in the task: what becomes the descriptors */
};

/* In the process that becomes the runtime. */
static void become_runtime(const struct supervisor *supervisor)
{
    struct berth_err err;

    dup2(LOG, STDOUT_FILENO);
    dup2(LOG, STDERR_FILENO);
    for (int fd = ANSWER; fd <= SAID; fd++)
        close(fd);
    if (berth_start_enter(supervisor->directory) < 0)
        dprintf(STDERR_FILENO, "%s: %s\n", supervisor->directory, strerror(errno));
    sigprocmask(SIG_SETMASK, &supervisor->mask, NULL);
    if (supervisor->launch->unknown_user && berth_identity_provide(&err) < 0) {
        dprintf(STDERR_FILENO, "%s\n", err.text);
        _exit(EXIT_FAILURE);
    }
    execv(supervisor->launch->runtime, supervisor->argv.items);
    dprintf(STDERR_FILENO, "%s; ask the administrators to repair it\n",
            strerror(errno));
    _exit(EXIT_FAILURE);
}

/* A task may enter namespaces only through a user namespace that its user has made (so
 * not those of a setuid runtime), and cannot change its own process namespace. */
static const char *why_separate(pid_t holder)
{
    if (!berth_namespaces_differ(holder, "user"))
        return "the runtime is installed setuid and uses no user namespace "
               "(--container-args=--userns)";
    return berth_namespaces_differ(holder, "pid")
               ? "the container has a process namespace"
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
static int note(struct supervisor *supervisor, const struct berth_injected *injected,
                int result, struct berth_err *err)
{
    if (result < 0)
        return berth_err_at(err, "image '%s': --mpi-bind=%s",
                            berth_request_name(supervisor->launch->request),
                            supervisor->launch->request->mpi);
    if (injected->note)
        berth_rendezvous_note(supervisor->rendezvous, injected->note);
    if (injected->differs)
        berth_rendezvous_differ(supervisor->rendezvous);
    if (injected->warning)
        berth_rendezvous_warn(supervisor->rendezvous, injected->warning);
    return 0;
}

static int inject(struct supervisor *supervisor, pid_t holder,
                  const struct berth_buf *after, struct berth_injected *injected,
                  struct berth_err *err)
{
    struct berth_inject inject = {
        .holder = holder,
        .launch = supervisor->launch,
        .environment = after->text,
        .count = after->used,
        .apart = supervisor->apart,
        .deadline = berth_rendezvous_deadline(supervisor->rendezvous),
        .said = SAID,
        .tasks = berth_rendezvous_tasks(supervisor->rendezvous),
        .parent = supervisor->parent};
    int result = berth_inject(&inject, injected, err);

    close(SAID);
    if (result == 0) {
        supervisor->witness = injected->witness;
        injected->witness = (struct berth_inject_witness){0};
    }
    return note(supervisor, injected, result, err);
}

/* Nothing can be put into the containers, WHY; what the image has is looked at. */
static int precheck(struct supervisor *supervisor, const char *why,
                    struct berth_injected *injected, struct berth_err *err)
{
    const struct berth_request *request = supervisor->launch->request;
    struct berth_precheck precheck = {
        .launch = supervisor->launch,
        .why = why,
        .apart = supervisor->apart,
        .mask = &supervisor->mask,
        .seconds = berth_rendezvous_limit(supervisor->rendezvous),
        .deadline = berth_rendezvous_deadline(supervisor->rendezvous)};

    if (!berth_request_mpi_chosen(request))
        return 0;
    if (berth_request_mpi_must_host(request))
        return note(supervisor, injected,
                    berth_err_set(err,
                                  "%s, so nothing can be mounted in its containers; "
                                  "choose --mpi-bind=hybrid",
                                  why),
                    err);
    return note(supervisor, injected, berth_precheck(&precheck, injected, err), err);
}

static void push_finding(struct berth_strvec *list, const char *name, const char *text)
{
    berth_strvec_push(list, name);
    berth_strvec_push(list, text);
}

/* What the account of the launch needs to know of the container. */
static int tell(struct supervisor *supervisor, const struct berth_buf *after,
                const struct berth_injected *injected, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec variables = {0};
    BERTH_STRVEC struct berth_strvec list = {0};
    BERTH_BUF struct berth_buf text = {0};

    if (!berth_request_explained(supervisor->launch->request))
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
    return berth_rendezvous_tell(supervisor->rendezvous, &text, err);
}

/* Let the tasks in. AFTER is the environment of the container. */
static int admit(struct supervisor *supervisor, pid_t holder,
                 const struct berth_buf *after, struct berth_err *err)
{
    BERTH_BUF struct berth_buf before = {0};
    struct berth_injected injected;
    int result;

    berth_envdiff_flatten(environ, &before);
    if (before.failed)
        return berth_err_oom(err);
    if (inject(supervisor, holder, after, &injected, err) < 0)
        return -1;
    supervisor->space = open_space(holder);
    berth_servers_seize(&supervisor->servers);
    result = tell(supervisor, after, &injected, err);
    if (result == 0)
        result = berth_rendezvous_ready(supervisor->rendezvous, holder, &before,
                                        &injected.environment, err);
    berth_injected_fini(&injected);
    return result;
}

/* Each task starts a container of its own, WHY; this one was only to look into. */
static int send_away(struct supervisor *supervisor, pid_t holder,
                     const struct berth_buf *after, const char *why,
                     struct berth_err *err)
{
    BERTH_BUF struct berth_buf set = {0};
    BERTH_BUF struct berth_buf binds = {0};
    struct berth_injected injected = {0};
    int result = 0;

    supervisor->apart = berth_rendezvous_tasks(supervisor->rendezvous);
    if (berth_namespaces_differ(holder, "user"))
        result = inject(supervisor, holder, after, &injected, err);
    else
        result = precheck(supervisor, why, &injected, err);
    kill(holder, SIGKILL);
    if (result == 0)
        result = tell(supervisor, after, &injected, err);
    berth_envdiff_flatten(injected.set.items, &set);
    berth_envdiff_flatten(injected.binds.items, &binds);
    berth_injected_fini(&injected);
    if (result < 0)
        return -1;
    if (set.failed || binds.failed)
        return berth_err_oom(err);
    if (berth_rendezvous_put(supervisor->rendezvous, &set, &binds, err) < 0)
        return -1;
    return berth_rendezvous_separate(supervisor->rendezvous, why, err);
}

/* Wait for berth-init in the container, and go on with the tasks. */
static int open_rendezvous(struct supervisor *supervisor, struct berth_err *err)
{
    BERTH_BUF struct berth_buf after = {0};
    const struct berth_launch *launch = supervisor->launch;
    const char *why = berth_rendezvous_forbidden(supervisor->rendezvous);
    struct berth_start start = {
        .launch = launch,
        .runtime = supervisor->runtime,
        .log = LOG,
        .answer = ANSWER,
        .tasks = TASKS,
        .seconds = berth_rendezvous_limit(supervisor->rendezvous),
        .deadline = berth_rendezvous_deadline(supervisor->rendezvous)};
    pid_t holder = 0;

    if (berth_start_await(&start, &holder, &after, err) < 0)
        return -1;
    supervisor->holder = holder;
    if (berth_servers_check(&supervisor->servers, launch->terms->image,
                            launch->request->image, err) < 0)
        return -1;
    if (berth_servers_unpacked(&supervisor->servers, launch->request->image))
        berth_rendezvous_unpack(supervisor->rendezvous);
    if (!why)
        why = why_separate(holder);
    return why ? send_away(supervisor, holder, &after, why, err)
               : admit(supervisor, holder, &after, err);
}

/* The last task has ended. What is left in the container then has nobody who waits for
 * it: a child that lives on, a task whose slurmstepd was killed. The server of the
 * image ends when nobody holds the container, us included. */
static void end_container(struct supervisor *supervisor)
{
    supervisor->over = true;
    if (supervisor->witness.pid)
        close(supervisor->witness.end);
    berth_guard_end_space(supervisor->space, supervisor->holder);
    if (supervisor->space >= 0)
        close(supervisor->space);
    supervisor->space = -1;
}

/* Until one of our CHILDREN changes, the last task ends, or for MILLISECONDS. */
static void await_change(struct supervisor *supervisor, int children, int milliseconds)
{
    struct pollfd fds[] = {{.fd = children, .events = POLLIN},
                           {.fd = supervisor->over ? -1 : TASKS, .events = POLLIN}};
    struct signalfd_siginfo child;

    if (poll(fds, 2, milliseconds) > 0 && fds[1].revents)
        end_container(supervisor);
    while (read(children, &child, sizeof(child)) > 0)
        ;
}

/* What PID did, as waitpid() told it in STATUS. Returns whether the runtime has ended.
 */
static bool attend(const struct supervisor *supervisor, pid_t pid, int status)
{
    if (WIFSTOPPED(status)) {
        berth_guard_go_on(pid, status, supervisor->runtime);
        return false;
    }
    if (pid == supervisor->witness.pid)
        return false;
    if ((pid == supervisor->runtime || WIFSIGNALED(status)) && !supervisor->over)
        berth_rendezvous_lose(supervisor->rendezvous);
    return pid == supervisor->runtime;
}

/* The runtime and the last task have ended ROUNDS ago: what should have ended with them
 * ends, servers by a signal that lets them unmount first. */
static void end_left(struct supervisor *supervisor, int rounds)
{
    enum { PATIENCE = 10 };

    if (rounds <= PATIENCE)
        return;
    supervisor->servers.runtime = getpid(); /* what it leaves is ours */
    berth_servers_end(&supervisor->servers, rounds <= 2 * PATIENCE ? SIGTERM : SIGKILL);
    berth_guard_end_children();
}

/* Until the runtime, all that is traced and the last task have ended. The runtime ends
 * the programs that serve its image before itself; where it has not, it was killed:
 * they serve the tasks that run, and then nobody. */
static void stay(struct supervisor *supervisor)
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
            ended |= attend(supervisor, pid, status);
            continue;
        }
        await_change(supervisor, children,
                     ended && supervisor->over ? PAUSE_MS : LOOK_AGAIN_MS);
        if (ended && supervisor->over)
            end_left(supervisor, ++rounds);
    }
    berth_servers_tidy(&supervisor->servers);
    if (!supervisor->holder)
        berth_remains_clear(supervisor->launch->runtime);
    while (!supervisor->over)
        await_change(supervisor, children, -1);
}

/* A container that has started ends when its first process does; the runtime then takes
 * away what it has made. One that has not is killed. */
static void end_start(const struct supervisor *supervisor)
{
    if (supervisor->holder)
        kill(supervisor->holder, SIGKILL);
    else if (supervisor->runtime > 0)
        berth_guard_end_tree(supervisor->runtime);
}

static void keep(void *data)
{
    struct supervisor *supervisor = data;
    struct stat ready;
    struct berth_err err;

    berth_detach(supervisor->fds, DESCRIPTORS, &supervisor->mask);
    if (!berth_request_mpi_may_host(supervisor->launch->request))
        close(SAID);
    berth_limits_raise(NULL);
    sched_setaffinity(0, sizeof(cpu_set_t),
                      berth_rendezvous_cpus(supervisor->rendezvous));
    supervisor->rendezvous->memory = MEMORY;
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* what the runtime leaves comes to us */
    supervisor->runtime = fork();
    if (supervisor->runtime == 0)
        become_runtime(supervisor);
    supervisor->servers.runtime = supervisor->runtime;
    if (fstat(READY, &ready) == 0)
        supervisor->servers.socket = berth_opened_identity(&ready);
    close(INIT);
    close(READY);
    if (supervisor->runtime < 0)
        berth_err_set(&err, "cannot start a process: %s", strerror(errno));
    if (supervisor->runtime < 0 || open_rendezvous(supervisor, &err) < 0) {
        berth_rendezvous_fail(supervisor->rendezvous, &err);
        end_start(supervisor);
    }
    stay(supervisor);
}

/* All that the supervisor needs, open. Returns 0, or -1 with a sentence in ERR. */
static int open_all(const struct berth_rendezvous *rendezvous, int fds[DESCRIPTORS],
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
    fds[TASKS - INIT] = rendezvous->tasks;
    fds[READY - INIT] = ends[1];
    fds[ANSWER - INIT] = ends[0];
    fds[LOG - INIT] = berth_log_open(err);
    fds[MEMORY - INIT] = rendezvous->memory;
    fds[ENDED - INIT] = rendezvous->ended;
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

static void hand_on(void *data, pid_t pid)
{
    const struct supervisor *supervisor = data;

    berth_rendezvous_hand_on(supervisor->rendezvous, pid);
}

int berth_supervisor_start(struct berth_launch *launch, const char *directory,
                           struct berth_rendezvous *rendezvous, struct berth_err *err)
{
    struct supervisor supervisor = {.rendezvous = rendezvous,
                                    .launch = launch,
                                    .directory = directory,
                                    .space = -1,
                                    .parent = getppid()};
    char init[BERTH_PROGRAM_NAME];
    int result;

    berth_program_name(INIT, init);
    launch->init = init;
    if (berth_launch_holder_argv(launch, TASKS, READY, &supervisor.argv, err) < 0 ||
        open_all(rendezvous, supervisor.fds, err) < 0)
        return -1;
    result = berth_detach_run(keep, hand_on, &supervisor, err);
    close_all(supervisor.fds);
    berth_strvec_fini(&supervisor.argv);
    return result;
}
