/* SPDX-License-Identifier: Apache-2.0 */
/* Forwards signals of the runtime to the application, each signal once. */

#include "run/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/detach.h"
#include "run/status.h"

/* A signal from the runtime waits PATIENCE milliseconds for the same signal from
 * elsewhere; a signal from elsewhere is remembered for MEMORY milliseconds, because the
 * same signal through the runtime comes later, on a busy machine much later. */
enum { PATIENCE = 100, MEMORY = 1000 };

enum { SIGNALS = 65 };

struct signals {
    pid_t application;
    int64_t twin[SIGNALS]; /* when the signal came from elsewhere; 0: it did not */
    int64_t due[SIGNALS];  /* when that of the runtime is forwarded; 0: there is none */
};

static void receive(struct signals *signals, const siginfo_t *info)
{
    int number = info->si_signo;
    int64_t now = berth_clock();
    bool is_forwarded =
        info->si_code <= 0 && info->si_pid > 0 && info->si_pid == getppid();

    if (!is_forwarded) {
        signals->twin[number] = now;
        signals->due[number] = 0;
    } else if (!signals->twin[number] || now > signals->twin[number] + MEMORY) {
        signals->due[number] = now + PATIENCE;
    }
}

/* Forward the signals that have waited long enough. Returns whether a signal still
 * waits. */
static bool hand_on(struct signals *signals)
{
    bool waits = false;

    for (int number = 1; number < SIGNALS; number++) {
        if (!signals->due[number])
            continue;
        if (signals->due[number] > berth_clock()) {
            waits = true;
            continue;
        }
        kill(signals->application, number);
        signals->due[number] = 0;
    }
    return waits;
}

/* Forward signals until the application ends. An open descriptor or the directory of
 * this process would keep a file system of the application busy. */
_Noreturn static void forward(struct signals *signals, const sigset_t *all, int held)
{
    const struct timespec patience = {.tv_nsec = PATIENCE * 1000000L};
    siginfo_t info;
    int status;
    pid_t pid;

    (void)!chdir("/");
    for (int fd = 0; fd < held; fd++)
        close(fd);
    berth_close_from(held + 1);
    for (;;) {
        if (sigtimedwait(all, &info, hand_on(signals) ? &patience : NULL) > 0 &&
            info.si_signo != SIGCHLD)
            receive(signals, &info);
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
            if (pid == signals->application)
                berth_status_end(status);
    }
}

int berth_signals_forward(int held, struct berth_err *err)
{
    const struct timespec none = {0};
    struct signals signals = {0};
    pid_t self = getpid();
    sigset_t all, mask;
    int number;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &mask);
    prctl(PR_SET_NAME, "berth-init");
    /* forward the signals that came before the application could get them */
    while ((number = sigtimedwait(&all, NULL, &none)) > 0)
        signals.due[number] = number == SIGCHLD ? 0 : 1;
    signals.application = fork();
    if (signals.application < 0)
        return berth_err_set(err, "cannot start a process: %s", strerror(errno));
    if (signals.application > 0)
        forward(&signals, &all, held);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != self)
        _exit(EXIT_FAILURE);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    return 0;
}
