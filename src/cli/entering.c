/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command in a container that runs, beside its tasks. */

#include "cli/entering.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/detach.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/run.h"
#include "base/strvec.h"
#include "step/become.h"
#include "step/join.h"
#include "step/namespaces.h"
#include "step/processes.h"

extern char **environ;

/* Replaces the environment by that with which process PID was started, except TERM. */
static int adopt_environment(pid_t pid, struct berth_err *err)
{
    enum { MOST = 16 << 20 };
    static struct berth_strvec variables; /* `environ` points here from now on */
    BERTH_BUF struct berth_buf bytes = {0};
    const char *term = getenv("TERM");
    BERTH_FREE char *own = term ? strdup(term) : NULL;

    if (berth_process_environment(pid, MOST, &bytes) < 0)
        return berth_err_set(err, "the task has ended; see berth ps");
    if (bytes.used)
        berth_environ_split(bytes.text, bytes.used, &variables);
    if (bytes.failed || variables.failed)
        return berth_err_oom(err);
    clearenv();
    if (variables.items)
        environ = variables.items;
    if (own && setenv("TERM", own, 1) < 0)
        return berth_err_oom(err);
    return 0;
}

/* Sets RET to a shell of the image. $SHELL may name a shell that only the host has. */
static int choose_shell(char *ret[2], struct berth_err *err)
{
    static char bash[] = "/bin/bash", sh[] = "/bin/sh";
    char *shells[] = {getenv("SHELL"), bash, sh};

    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
        if (shells[i] && *shells[i] == '/' && access(shells[i], X_OK) == 0) {
            ret[0] = shells[i];
            return 0;
        }
    return berth_err_set(err, "the image has no shell; name a command that it has");
}

static int open_directory(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/cwd", pid);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Run on the CPUs of process PID: Slurm may give a step of one task fewer. On a machine
 * with more processors than cpu_set_t holds, nothing changes. */
static void adopt_affinity(pid_t pid)
{
    cpu_set_t set;

    if (sched_getaffinity(pid, sizeof(set), &set) == 0)
        sched_setaffinity(0, sizeof(set), &set);
}

static int wait_for(pid_t child)
{
    int status = berth_run_wait(child);

    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Become COMMAND in CONTAINER. Returns only if that fails: a status of step/become.h,
 * with a sentence in ERR. */
static int become(const struct berth_container *container, char **command,
                  struct berth_err *err)
{
    BERTH_CLOSE int directory = open_directory(container->task);
    char *shell[2] = {NULL};
    struct berth_become become = {.command = *command ? command : shell};

    adopt_affinity(container->task);
    /* The environment of the task, or if it is not known, that of the container. */
    if (adopt_environment(container->rank < 0 ? container->holder : container->task,
                          err) < 0 ||
        berth_join((struct berth_holder){container->holder, container->mounts}, err) <
            0)
        return BERTH_REFUSED;
    if (directory >= 0 && fchdir(directory) < 0)
        unsetenv("PWD"); /* the directory is gone: stay in / */
    if (!*command && choose_shell(shell, err) < 0)
        return BERTH_NOT_FOUND;
    berth_cloexec_from(STDERR_FILENO + 1);
    return berth_become_command(&become, err);
}

/* Copy what FD has now to standard output. Returns false at the end of FD. */
static bool copy_output(int fd)
{
    char bytes[65536];
    ssize_t count = read(fd, bytes, sizeof(bytes));

    return (count > 0 && berth_fd_write(STDOUT_FILENO, bytes, (size_t)count) == 0) ||
           (count < 0 && errno == EINTR);
}

/* Copy FD to standard output until CHILD has ended and FD is empty; processes that
 * CHILD leaves in the background may keep FD open. ENDED is readable when CHILD has
 * ended. Returns the status of CHILD. */
static int relay(int fd, pid_t child, int ended)
{
    struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
                           {.fd = ended, .events = POLLIN}};

    do {
        fds[0].revents = fds[1].revents = 0;
        poll(fds, 2, -1);
    } while (fds[0].revents ? copy_output(fd) : !fds[1].revents);
    close(fd);
    return wait_for(child);
}

/* srun --unbuffered passes bytes on at once only if it gives the task a terminal as its
 * standard output. Programs behave differently on a terminal, so they get a pipe. */
static int run_piped(const struct berth_container *container, char **command,
                     struct berth_err *err)
{
    sigset_t ends, old;
    int ended, pipes[2];
    pid_t child;

    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ends, &old);
    ended = signalfd(-1, &ends, SFD_CLOEXEC);
    if (ended < 0 || pipe2(pipes, O_CLOEXEC) < 0 || (child = fork()) < 0)
        return berth_err_set(err, "cannot start a process: %s", strerror(errno)),
               BERTH_REFUSED;
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &old, NULL);
        dup2(pipes[1], STDOUT_FILENO);
        return become(container, command, err);
    }
    close(pipes[1]);
    close(STDIN_FILENO); /* only the command reads it */
    return relay(pipes[0], child, ended);
}

int berth_enter(const struct berth_container *container, char **command,
                struct berth_err *err)
{
    *err->text = '\0';
    return isatty(STDOUT_FILENO) && !isatty(STDIN_FILENO)
               ? run_piped(container, command, err)
               : become(container, command, err);
}
