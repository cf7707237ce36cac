/* SPDX-License-Identifier: Apache-2.0 */
/* Between a runtime and its application: each signal once. */

#include "init/relay.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/detach.h"

/* For so many milliseconds a signal of the runtime waits for its twin from elsewhere,
 * and a twin that has come is remembered: the runtime is one process more on the way,
 * on a machine that may be busy. */
enum { PATIENCE = 100, MEMORY = 1000 };

enum { SIGNALS = 65 };

struct relay {
    pid_t application;
    int64_t twin[SIGNALS]; /* when it came from elsewhere; 0: it did not */
    int64_t due[SIGNALS];  /* when the runtime's goes on; 0: there is none */
};

static void take(struct relay *relay, const struct signalfd_siginfo *info)
{
    uint32_t number = info->ssi_signo;
    int64_t now = berth_clock();
    bool forwarded =
        info->ssi_code <= 0 && info->ssi_pid > 0 && (pid_t)info->ssi_pid == getppid();

    if (!forwarded) {
        relay->twin[number] = now;
        relay->due[number] = 0;
    } else if (!relay->twin[number] || now > relay->twin[number] + MEMORY) {
        relay->due[number] = now + PATIENCE;
    }
}

/* Hand on what has waited long enough. Returns how long the next one waits; -1 for
 * ever. */
static int hand_on(struct relay *relay)
{
    int64_t now = berth_clock();
    int64_t next = -1;

    for (int number = 1; number < SIGNALS; number++) {
        int64_t wait = relay->due[number] - now;

        if (!relay->due[number])
            continue;
        if (wait <= 0) {
            kill(relay->application, number);
            relay->due[number] = 0;
        } else if (next < 0 || wait < next) {
            next = wait;
        }
    }
    return (int)next;
}

/* The application has ended: so do we, by the same signal if it was one. The core file,
 * if any, is its own. */
_Noreturn static void end_like(int status)
{
    sigset_t one;

    if (WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    prctl(PR_SET_DUMPABLE, 0);
    signal(WTERMSIG(status), SIG_DFL);
    kill(getpid(), WTERMSIG(status));
    sigemptyset(&one);
    sigaddset(&one, WTERMSIG(status));
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    _exit(128 + WTERMSIG(status)); /* the first process of a namespace lives on */
}

_Noreturn static void relay_signals(struct relay *relay)
{
    for (;;) {
        struct pollfd signals = {.fd = 0, .events = POLLIN};
        struct signalfd_siginfo info;
        int status;
        pid_t pid;

        poll(&signals, 1, hand_on(relay));
        while (read(0, &info, sizeof(info)) == (ssize_t)sizeof(info))
            if (info.ssi_signo != SIGCHLD && info.ssi_signo < SIGNALS)
                take(relay, &info);
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
            if (pid == relay->application)
                end_like(status);
    }
}

/* What came before there was an application, which therefore cannot have had it. */
static void keep_early(struct relay *relay, int fd)
{
    struct signalfd_siginfo info;

    while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        if (info.ssi_signo != SIGCHLD && info.ssi_signo < SIGNALS)
            relay->due[info.ssi_signo] = 1;
}

/* A descriptor or directory of ours would keep the application's busy. FD becomes 0. */
static int let_go(int fd)
{
    dup2(fd, 0);
    berth_close_from(1);
    return chdir("/");
}

/* Die with the process that stands between us and the runtime. */
static void become_application(pid_t relay, const sigset_t *mask)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != relay)
        _exit(EXIT_FAILURE);
    sigprocmask(SIG_SETMASK, mask, NULL);
}

int berth_relay(struct berth_err *err)
{
    struct relay relay = {0};
    pid_t self = getpid();
    sigset_t all, mask;
    int fd;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &mask);
    fd = signalfd(-1, &all, SFD_NONBLOCK);
    prctl(PR_SET_NAME, "berth-init");
    if (fd >= 0)
        keep_early(&relay, fd);
    relay.application = fd < 0 ? -1 : fork();
    if (relay.application < 0)
        return berth_err_set(err, "cannot start a process: %s", strerror(errno));
    if (relay.application > 0) {
        let_go(fd);
        relay_signals(&relay);
    }
    close(fd);
    become_application(self, &mask);
    return 0;
}
