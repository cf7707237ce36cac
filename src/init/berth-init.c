/* SPDX-License-Identifier: Apache-2.0 */
/* berth-init: the only program of ours in the image. Linked statically, because the
 * image may hold no libc and no shell. With --hold it keeps a container alive for the
 * tasks that join it; else it becomes the user's command in a container of its own. */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"
#include "plan/envdiff.h"
#include "request/spell.h"
#include "step/become.h"
#include "launch/guard.h"
#include "step/handover.h"
#include "step/limits.h"
#include "step/program.h"
#include "init/relay.h"
#include "step/report.h"

extern char **environ;

struct init {
    struct berth_become become;
    const char *place;
    const char *prefix; /* of options, in messages */
    int report;
    int guard;
    int handover;
    const char *limits; /* the application's */
    bool hold;
    bool only_tries; /* to become the command */
    int tasks;
    int ready;
};

static int read_words(int argc, char **argv, struct init *init)
{
    static const struct option options[] = {
        {"place", required_argument, NULL, 'p'},
        {"report", required_argument, NULL, 'r'},
        {"prefix", required_argument, NULL, 'o'},
        {"workdir", required_argument, NULL, 'w'},
        {"stay", required_argument, NULL, 's'},
        {"pwd", required_argument, NULL, 'd'},
        {"guard", required_argument, NULL, 'g'},
        {"stderr", required_argument, NULL, 'E'},
        {"env", required_argument, NULL, 'e'},
        {"handover", required_argument, NULL, 'l'},
        {"limits", required_argument, NULL, 'L'},
        {"hold", no_argument, NULL, 'h'},
        {"try", no_argument, NULL, 'T'},
        {"tasks", required_argument, NULL, 't'},
        {"ready", required_argument, NULL, 'y'},
        {NULL, 0, NULL, 0},
    };
    int c;

    optind = 0; /* from the start: the words of the handover come second */
    while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1) {
        switch (c) {
        case 'p':
            init->place = optarg;
            break;
        case 'r':
            init->report = atoi(optarg);
            break;
        case 'o':
            init->prefix = optarg;
            break;
        case 'w':
            init->become.workdir = optarg;
            break;
        case 's':
            init->become.stay = optarg;
            break;
        case 'E':
            dup2(atoi(optarg), STDERR_FILENO);
            close(atoi(optarg));
            break;
        case 'd':
            init->become.pwd = optarg;
            break;
        case 'g':
            init->guard = atoi(optarg);
            break;
        case 'e':
            putenv(optarg);
            break;
        case 'l':
            init->handover = atoi(optarg);
            break;
        case 'L':
            init->limits = optarg;
            break;
        case 'h':
            init->hold = true;
            break;
        case 'T':
            init->only_tries = true;
            break;
        case 't':
            init->tasks = atoi(optarg);
            break;
        case 'y':
            init->ready = atoi(optarg);
            break;
        default:
            return -1;
        }
    }
    init->become.command = argv + optind;
    return *init->become.command || init->hold || init->handover >= 0 ? 0 : -1;
}

/* The environment of the task, with what the runtime made of it. */
static int take_environment(const struct berth_handover *handover)
{
    static struct berth_strvec variables; /* the process's environment from now on */
    BERTH_BUF struct berth_buf ours = {0};
    struct berth_err err;

    berth_envdiff_flatten(environ, &ours);
    if (ours.failed ||
        berth_envdiff_apply(handover->bytes, handover->count, ours.text, ours.used,
                            handover->environment.items, &variables, &err) < 0)
        return -1;
    environ = variables.items;
    return 0;
}

/* The words of our command line say where the others are. */
static int read_handover(struct init *init)
{
    struct berth_handover handover;

    if (berth_handover_read(init->handover, &handover) < 0 || !handover.words.count ||
        take_environment(&handover) < 0)
        return -1;
    init->handover = -1;
    return read_words((int)handover.words.count, handover.words.items, init);
}

/* One byte, by which the supervisor learns who we are; then how long the environment
 * is, and the environment. */
static bool tell_environment(int fd)
{
    BERTH_BUF struct berth_buf text = {0};
    uint32_t count;

    berth_envdiff_flatten(environ, &text);
    count = (uint32_t)text.used;
    return !text.failed && berth_fd_write(fd, "!", 1) == 0 &&
           berth_fd_write(fd, &count, sizeof(count)) == 0 &&
           berth_fd_write(fd, text.text, text.used) == 0;
}

/* Keep the container until the last task has ended. Signals are the application's; when
 * the runtime is killed, so are we. */
static int hold(const struct init *init, const char *self)
{
    sigset_t all;
    char byte;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    prctl(PR_SET_NAME, "berth-init");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    if (!tell_environment(init->ready))
        return EXIT_FAILURE;
    close(init->ready);
    close(berth_program_descriptor(self));
    while (read(init->tasks, &byte, 1) < 0 && errno == EINTR)
        ;
    return EXIT_SUCCESS;
}

/* Our own descriptors end where the application begins. */
static void close_ours(const struct init *init, const char *self)
{
    fcntl(berth_program_descriptor(self), F_SETFD, FD_CLOEXEC);
    if (init->report >= 0)
        fcntl(init->report, F_SETFD, FD_CLOEXEC);
}

/* Until the guard is on duty, or will never be: it has ended. Returns -1, without a
 * sentence, if nothing may run; the guard says why. */
static int await_guard(int fd)
{
    char answer = BERTH_GUARD_GUARDS;

    if (write(fd, "", 1) == 1)
        while (read(fd, &answer, 1) < 0 && errno == EINTR)
            ;
    close(fd);
    return answer == BERTH_GUARD_REFUSES ? -1 : 0;
}

static int run(const struct init *init, const char *self, struct berth_err *err)
{
    if (init->guard >= 0 && await_guard(init->guard) < 0)
        exit(BERTH_REFUSED);
    if (berth_relay(err) < 0 || berth_become_enter(&init->become, err) < 0)
        return BERTH_REFUSED;
    close_ours(init, self);
    berth_limits_restore(init->limits);
    return init->only_tries ? berth_become_try(&init->become, err)
                            : berth_become_command(&init->become, err);
}

int main(int argc, char **argv)
{
    struct init init = {.place = "berth-init",
                        .prefix = "",
                        .limits = "",
                        .report = -1,
                        .guard = -1,
                        .handover = -1};
    struct berth_err err;
    int status = BERTH_REFUSED;

    if (berth_program_tells("berth-init", argc, argv))
        return EXIT_SUCCESS;
    if (read_words(argc, argv, &init) < 0 ||
        (init.handover >= 0 && read_handover(&init) < 0))
        berth_err_set(&err, "started with wrong words; it is for berth-task only");
    else if (init.hold)
        return hold(&init, argv[0]);
    else
        status = run(&init, argv[0], &err);
    if (status == EXIT_SUCCESS)
        return status;
    berth_spell_options(init.prefix, &err);
    berth_report(init.report, init.place, &err);
    return status;
}
