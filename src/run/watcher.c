/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the runtime that a task becomes: keeps the image mounted while the
 * application handles signals, and reports why a container did not start. */

#include "run/watcher.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/detach.h"
#include "base/opened.h"
#include "step/kill.h"
#include "step/remains.h"
#include "step/servers.h"
#include "step/log.h"
#include "step/processes.h"
#include "step/report.h"
#include "run/notice.h"

/* The descriptors of a watcher: the socket to berth-init, the standard error of the
 * task, the log of the runtime, the pipe of step/report.h, the socket and the pipe of
 * the rendezvous, and two of job/hostserver.h. */
enum {
    ASK = 3,
    SAY,
    LOG,
    REPORT,
    TASKS,
    ENDED,
    COMMANDS,
    ENVIRONMENT,
    DESCRIPTORS = ENVIRONMENT - ASK + 1
};

struct watch {
    struct berth_watcher it;
    pid_t runtime;
    struct berth_servers servers;
    unsigned int limit;             /* seconds that the start may take; 0: no limit */
    struct berth_deadline deadline; /* of the start */
    bool started;                   /* the container has */
    bool late;
    struct berth_err
        exchanged; /* the sentence if the image was exchanged; "": it was not */
    int ends[2];   /* the sockets of the watcher and of berth-init */
    struct berth_hostcommand hostcommand;
    sigset_t mask; /* of the task */
};

/* Warn that the runtime has unpacked the image, once for the tasks of a node. */
static void warn_unpacked(struct watch *watch)
{
    const struct berth_launch *launch = watch->it.launch;

    if (berth_servers_unpacked(&watch->servers, launch->request->image) &&
        (!watch->it.rendezvous || berth_rendezvous_set_unpacked(watch->it.rendezvous)))
        berth_report_line(SAY, launch->node, BERTH_NOTICE_UNPACKED,
                          berth_request_name(launch->request));
}

/* Answer berth-init, which asks whether the watcher is ready. If the answer is a
 * refusal, berth-init ends, and then the runtime, which removes what it has made. */
static void answer(struct watch *watch)
{
    enum { PATIENCE = 5 };
    const struct berth_launch *launch = watch->it.launch;
    char byte;

    if (read(ASK, &byte, 1) == 1) {
        if (berth_servers_check(&watch->servers, launch->terms->image,
                                launch->request->image, &watch->exchanged) < 0) {
            send(ASK, (char[]){BERTH_WATCHER_REFUSES}, 1, MSG_NOSIGNAL);
            watch->limit = PATIENCE;
            berth_deadline_begin(&watch->deadline, PATIENCE);
            close(ASK);
            return;
        }
        warn_unpacked(watch);
        watch->started = true;
        berth_servers_seize(&watch->servers);
        send(ASK, (char[]){BERTH_WATCHER_READY}, 1, MSG_NOSIGNAL);
        close(SAY); /* only the application has it from now on */
    }
    close(ASK);
}

/* The runtime has ended before the container had started: report why. A runtime that
 * was killed with its step has said nothing, and nothing is reported. */
static void report_end(const struct watch *watch)
{
    struct berth_err err = watch->exchanged;
    struct stat log = {0};

    fstat(LOG, &log);
    if (watch->late && !*err.text)
        berth_err_set(&err, "image '%s': " BERTH_RENDEZVOUS_TOO_LATE,
                      berth_request_name(watch->it.launch->request), watch->limit);
    else if (!*err.text && log.st_size > 0)
        berth_log_explain(LOG, watch->it.launch, &err);
    dup2(SAY, STDERR_FILENO);
    if (*err.text)
        berth_report(watch->it.report < 0 ? -1 : REPORT, watch->it.launch->node, &err);
}

static bool is_late(struct watch *watch)
{
    return watch->limit && !watch->started && !watch->late &&
           berth_deadline_left(&watch->deadline) < 0;
}

/* Watch until the runtime has ended. */
static void await_end(struct watch *watch)
{
    enum { LOOK_AGAIN_MS = 1000 }; /* where the kernel has no pidfd */
    pid_t child;
    struct pollfd fds[] = {{.fd = ASK, .events = POLLIN},
                           {.fd = berth_process_open(watch->runtime), .events = POLLIN},
                           {.fd = watch->it.rendezvous ? TASKS : -1, .events = POLLIN},
                           {.events = POLLIN}};

    while (!fds[1].revents && kill(watch->runtime, 0) == 0) {
        fds[3].fd = watch->hostcommand.server ? -1 : watch->hostcommand.socket;
        berth_servers_wait(fds, 4,
                           watch->started ? LOOK_AGAIN_MS : BERTH_DEADLINE_POLL_MS);
        if (fds[0].revents) {
            answer(watch);
            fds[0].fd = -1;
        }
        if (is_late(watch))
            watch->late = berth_kill_tree(watch->runtime);
        if (fds[2].revents) { /* slurmstepd was killed */
            berth_kill_tree(watch->runtime);
            fds[2].fd = -1;
        }
        if (fds[3].revents)
            berth_hostcommand_serve(&watch->hostcommand);
        while ((child = berth_servers_reap(&watch->servers, NULL)) > 0)
            if (child == watch->hostcommand.server)
                watch->hostcommand.server = 0;
    }
}

/* The runtime has ended: end its servers, which a runtime that was killed has left. */
static void end_servers(struct berth_servers *servers)
{
    enum { ROUNDS = 3 * BERTH_SERVERS_PATIENCE };

    for (int i = 0; i < ROUNDS && berth_servers_count(servers) > 0; i++) {
        berth_servers_end(servers, i);
        berth_servers_wait(NULL, 0, BERTH_SERVERS_ROUND_MS);
        while (berth_servers_reap(servers, NULL) > 0)
            ;
    }
    berth_servers_tidy(servers);
}

static void run(void *data)
{
    struct watch *watch = data;
    const struct berth_rendezvous *rendezvous = watch->it.rendezvous;
    const int descriptors[] = {watch->ends[0],
                               dup(STDERR_FILENO),
                               watch->it.log,
                               watch->it.report,
                               rendezvous ? rendezvous->tasks : -1,
                               rendezvous ? rendezvous->ended : -1,
                               watch->hostcommand.socket,
                               watch->hostcommand.environment};

    close(watch->ends[1]);
    if (berth_detach(descriptors, DESCRIPTORS, &watch->mask) < 0)
        return;
    if (watch->hostcommand.socket >= 0) {
        watch->hostcommand.socket = COMMANDS;
        watch->hostcommand.environment = ENVIRONMENT;
        watch->hostcommand.mask = &watch->mask;
    }
    berth_deadline_begin(&watch->deadline, watch->limit);
    await_end(watch);
    if (!watch->started)
        report_end(watch);
    end_servers(&watch->servers);
    if (!watch->started)
        berth_remains_clear(watch->it.launch->runtime);
}

int berth_watcher_start(const struct berth_watcher *what, struct berth_err *err)
{
    struct watch watch = {
        .it = *what,
        .runtime = getpid(),
        .limit = what->rendezvous ? berth_rendezvous_limit(what->rendezvous) : 0,
        .servers = {.runtime = getpid()},
        .hostcommand = *what->hostcommand};
    struct stat status;
    int result;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, watch.ends) < 0 ||
        fstat(watch.ends[1], &status) < 0)
        return berth_err_set(err, "cannot make a socket: %s", strerror(errno));
    watch.servers.socket = berth_opened_identity(&status);
    result = berth_detach_run(run, NULL, &watch, err);
    close(watch.ends[0]);
    if (result < 0)
        close(watch.ends[1]);
    return result < 0 ? -1 : watch.ends[1];
}
