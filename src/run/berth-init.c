/* SPDX-License-Identifier: Apache-2.0 */
/* berth-init: the only program of berth that runs in an image. It is linked statically,
 * because the image may have no C library and no shell. With --hold it holds a
 * container for the tasks that join it; else it becomes the user's command in the
 * container of one task. */

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"
#include "run/signals.h"
#include "plan/envdiff.h"
#include "plan/outside.h"
#include "request/spell.h"
#include "step/become.h"
#include "step/handover.h"
#include "step/limits.h"
#include "step/program.h"
#include "step/report.h"
#include "run/watcher.h"

extern char **environ;

struct init {
    struct berth_become become;
    const char *place;
    const char *prefix; /* of the names of options, in messages */
    int report;
    int watcher;
    int task_stderr; /* standard error of the task; that of this process is the
                        runtime's log */
    int handover;
    int programs; /* a directory that this process holds open for the application; -1:
                     none */
    int environment;    /* memory for the environment of the application; -1: none */
    const char *limits; /* of the application */
    bool hold;
    bool only_tries; /* does not become the command */
    int tasks;
    int ready;
    int inner; /* the user namespace of the tasks; -1: that of this process */
};

/* An option before the command, and what its value sets. */
struct word {
    const char *name;
    const char **text;
    int *number;
    bool *flag; /* without a value */
};

static const struct word *find_word(const char *name, const struct word *words)
{
    while (words->name && strcmp(words->name, name) != 0)
        words++;
    return words->name ? words : NULL;
}

static int read_words(char **argv, struct init *init)
{
    const struct word words[] = {
        {"--place", .text = &init->place},
        {"--prefix", .text = &init->prefix},
        {"--limits", .text = &init->limits},
        {"--workdir", .text = &init->become.workdir},
        {"--stay", .text = &init->become.stay},
        {"--pwd", .text = &init->become.pwd},
        {"--report", .number = &init->report},
        {"--watcher", .number = &init->watcher},
        {"--stderr", .number = &init->task_stderr},
        {"--programs", .number = &init->programs},
        {"--environment", .number = &init->environment},
        {"--handover", .number = &init->handover},
        {"--tasks", .number = &init->tasks},
        {"--ready", .number = &init->ready},
        {"--inner", .number = &init->inner},
        {"--hold", .flag = &init->hold},
        {"--try", .flag = &init->only_tries},
        {"--env", .text = NULL},
        {NULL, .text = NULL},
    };
    const struct word *word;

    for (argv++; *argv && strcmp(*argv, "--") != 0; argv++) {
        if (!(word = find_word(*argv, words)) || (!word->flag && !*++argv))
            return -1;
        if (word->flag)
            *word->flag = true;
        else if (word->text)
            *word->text = *argv;
        else if (word->number)
            *word->number = atoi(*argv);
        else
            putenv(*argv);
    }
    init->become.command = *argv ? argv + 1 : argv;
    return *init->become.command || init->hold || init->handover >= 0 ? 0 : -1;
}

/* Replace the environment of this process by that of the task, with the changes of the
 * runtime. */
static int apply_environment(const struct berth_handover *handover)
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

/* Read the words and the environment from the handover. */
static int read_handover(struct init *init)
{
    struct berth_handover handover;

    if (berth_handover_read(init->handover, &handover) < 0 || !handover.words.count ||
        apply_environment(&handover) < 0)
        return -1;
    init->handover = -1;
    return read_words(handover.words.items, init);
}

/* Send a byte, with which the kernel tells the supervisor this process; then the size
 * of the environment, and the environment. */
static bool send_environment(int fd)
{
    BERTH_BUF struct berth_buf text = {0};
    uint32_t count;

    berth_envdiff_flatten(environ, &text);
    count = (uint32_t)text.used;
    return !text.failed && berth_fd_write(fd, "!", 1) == 0 &&
           berth_fd_write(fd, &count, sizeof(count)) == 0 &&
           berth_fd_write(fd, text.text, text.used) == 0;
}

/* Enter the user namespace INNER with no capability: the kernel gives all of them to a
 * process that enters one (user_namespaces(7)). The bounding set stays what it was. */
static int enter_namespace(int inner)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    enum { MOST = 64 };
    bool bound[MOST];

    for (int cap = 0; cap < MOST; cap++)
        bound[cap] = prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1;
    if (setns(inner, CLONE_NEWUSER) < 0)
        return -1;
    for (int cap = 0; cap < MOST; cap++)
        if (!bound[cap] && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno == EINVAL)
            break; /* the kernel knows no more of them */
    return (int)syscall(SYS_capset, &header, none);
}

/* From the outer user namespace of step/outer.h, in which the runtime is, into that of
 * the tasks. Standard error is the runtime's log. */
static int enter_inner(int inner)
{
    if (inner < 0)
        return 0;
    if (enter_namespace(inner) < 0) {
        dprintf(STDERR_FILENO, "cannot enter the user namespace of the tasks: %s\n",
                strerror(errno));
        return -1;
    }
    close(inner);
    return 0;
}

/* Hold the container until the last task has ended. Signals are for the application, so
 * all are blocked; this process ends when the runtime is killed. */
static int hold(const struct init *init, const char *self)
{
    sigset_t all;
    char byte;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    if (enter_inner(init->inner) < 0)
        return EXIT_FAILURE;
    prctl(PR_SET_NAME, "berth-init");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    if (!send_environment(init->ready))
        return EXIT_FAILURE;
    close(init->ready);
    close(berth_program_descriptor(self));
    while (read(init->tasks, &byte, 1) < 0 && errno == EINTR)
        ;
    return EXIT_SUCCESS;
}

/* Close the descriptors of berth on exec. */
static void close_ours(const struct init *init, const char *self)
{
    fcntl(berth_program_descriptor(self), F_SETFD, FD_CLOEXEC);
    if (init->report >= 0)
        fcntl(init->report, F_SETFD, FD_CLOEXEC);
}

/* Wait until the watcher is ready, or has ended. Returns -1, without a sentence, if the
 * command must not run; the watcher reports why. */
static int await_watcher(int fd)
{
    char answer = BERTH_WATCHER_READY;

    if (write(fd, "", 1) == 1)
        while (read(fd, &answer, 1) < 0 && errno == EINTR)
            ;
    close(fd);
    return answer == BERTH_WATCHER_REFUSES ? -1 : 0;
}

/* In the application: add the directory of commands, which the parent holds open, to
 * the PATH. */
static int add_programs(const struct init *init, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};
    const char *path = getenv("PATH");
    char place[64];
    char *variable;

    if (init->programs < 0)
        return 0;
    close(init->programs);
    snprintf(place, sizeof(place), BERTH_PROGRAM_DIRECTORY, getppid(), init->programs);
    if (asprintf(&variable, "PATH=%s:%s", path ? path : BERTH_PROGRAM_PATH, place) <
            0 ||
        putenv(variable) < 0 || setenv(BERTH_OUTSIDE_PLACE, place, 1) < 0)
        return berth_err_oom(err);
    berth_envdiff_flatten(environ, &text);
    if (!text.failed && init->environment >= 0) {
        berth_fd_write(init->environment, text.text, text.used);
        close(init->environment);
    }
    return 0;
}

static int run(const struct init *init, const char *self, struct berth_err *err)
{
    if (init->task_stderr >= 0) {
        dup2(init->task_stderr, STDERR_FILENO);
        close(init->task_stderr);
    }
    if (init->watcher >= 0 && await_watcher(init->watcher) < 0)
        exit(BERTH_REFUSED);
    if (berth_signals_forward(init->programs, err) < 0 || add_programs(init, err) < 0 ||
        berth_become_chdir(&init->become, err) < 0)
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
                        .watcher = -1,
                        .inner = -1,
                        .task_stderr = -1,
                        .handover = -1,
                        .programs = -1,
                        .environment = -1};
    struct berth_err err;
    int status = BERTH_REFUSED;

    if (berth_program_prints_version("berth-init", argc, argv))
        return EXIT_SUCCESS;
    if (read_words(argv, &init) < 0 || (init.handover >= 0 && read_handover(&init) < 0))
        berth_err_set(&err, "wrong arguments; only berth-start can start this program");
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
