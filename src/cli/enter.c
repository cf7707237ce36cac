/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command beside the tasks of a step, in their container, or in one that the job
 * keeps. */

#include "cli/container.h"

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

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/detach.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/run.h"
#include "base/strvec.h"
#include "container/become.h"
#include "container/join.h"
#include "container/namespaces.h"
#include "container/processes.h"
#include "container/program.h"

extern char **environ;

/* Replaces the environment by that with which process PID was started, except TERM. */
static int adopt_environment(pid_t pid, struct berth_err *err)
{
    enum { MOST = 16 << 20 };
    static struct berth_strvec variables; /* `environ` points here from now on */
    BERTH_BUF struct berth_buf bytes = {0};
    const char *term = getenv("TERM");
    BERTH_FREE char *kept = term ? strdup(term) : NULL;

    if (berth_process_environment(pid, MOST, &bytes) < 0)
        return berth_container_refuse_ended(err);
    if (bytes.used)
        berth_environ_split(bytes.text, bytes.used, &variables);
    if (bytes.failed || variables.failed)
        return berth_err_oom(err);

    clearenv();
    if (variables.items)
        environ = variables.items;
    berth_program_unset_gogc();
    if (kept && setenv("TERM", kept, 1) < 0)
        return berth_err_oom(err);
    return 0;
}

/* Sets RET to a shell of the image. $SHELL may name a shell that only the host has. */
static int choose_shell(char *ret[2], struct berth_err *err)
{
    static char bash[] = "/bin/bash", sh[] = "/bin/sh";
    char *shells[] = {getenv("SHELL"), bash, sh};

    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        bool is_path = shells[i] && *shells[i] == '/';

        if (is_path && access(shells[i], X_OK) == 0) {
            ret[0] = shells[i];
            return 0;
        }
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

/* Wait for the end of CHILD. Returns its exit status, as a shell would see it. */
static int wait_for(pid_t child)
{
    int status = berth_run_wait(child);

    if (WIFSIGNALED(status))
        return 128 + WTERMSIG(status);
    return WEXITSTATUS(status);
}

/* Returns the process whose environment a command in CONTAINER gets: the task; if it is
 * not known which task that is, the container. */
static pid_t environment_source(const struct berth_container *container)
{
    return container->rank < 0 ? container->holder : container->task;
}

/* Returns the process in whose directory a command in CONTAINER starts. In a container
 * that the job keeps there is no task. */
static pid_t directory_source(const struct berth_container *container)
{
    return container->task ? container->task : container->holder;
}

/* Become COMMAND in CONTAINER. Returns only if that fails: a status of
 * container/become.h, with a sentence in ERR. */
static int become(const struct berth_container *container, char **command,
                  struct berth_err *err)
{
    const struct berth_holder holder = {container->holder, container->mounts};
    BERTH_CLOSE int directory = open_directory(directory_source(container));
    char *shell[2] = {NULL};
    struct berth_become become = {.command = command};

    adopt_affinity(container->task); /* 0: as this process */
    if (adopt_environment(environment_source(container), err) < 0)
        return BERTH_REFUSED;
    if (berth_join(holder, err) < 0)
        return BERTH_REFUSED;

    if (directory >= 0 && fchdir(directory) < 0)
        unsetenv("PWD"); /* the directory is gone: stay in / */
    if (!*command) {
        if (choose_shell(shell, err) < 0)
            return BERTH_NOT_FOUND;
        become.command = shell;
    }
    berth_cloexec_from(STDERR_FILENO + 1);
    return berth_become_command(&become, err);
}

/* Copy what FD has now to standard output. Returns false at the end of FD. */
static bool copy_output(int fd)
{
    char bytes[65536];
    ssize_t count = read(fd, bytes, sizeof(bytes));

    if (count < 0)
        return errno == EINTR;
    return count > 0 && berth_fd_write(STDOUT_FILENO, bytes, (size_t)count) == 0;
}

/* Copy FD to standard output until CHILD has ended and FD is empty; processes that
 * CHILD leaves in the background may keep FD open. ENDED is readable when CHILD has
 * ended. Returns the status of CHILD. */
static int relay(int fd, pid_t child, int ended)
{
    struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
                           {.fd = ended, .events = POLLIN}};
    bool is_open = true;

    while (is_open) {
        fds[0].revents = 0;
        fds[1].revents = 0;
        poll(fds, 2, -1);
        if (fds[0].revents)
            is_open = copy_output(fd);
        else if (fds[1].revents)
            is_open = false; /* CHILD has ended, and nothing is left to copy */
    }
    close(fd);
    return wait_for(child);
}

/* Returns a descriptor that is readable when a child of this process has ended, with
 * the signals that were blocked before in *RET_OLD; -1 with errno. */
static int watch_children(sigset_t *ret_old)
{
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ends, ret_old);
    return signalfd(-1, &ends, SFD_CLOEXEC);
}

/* As become(), with a pipe as standard output, whose bytes this process passes on:
 * srun --unbuffered passes bytes on at once only if it gives the task a terminal as its
 * standard output, and programs behave differently on a terminal. */
static int run_piped(const struct berth_container *container, char **command,
                     struct berth_err *err)
{
    sigset_t old;
    int ended = watch_children(&old);
    int pipes[2];
    pid_t child = -1;

    if (ended >= 0 && pipe2(pipes, O_CLOEXEC) == 0)
        child = fork();
    if (child < 0) {
        berth_err_spent(err, errno);
        return BERTH_REFUSED;
    }
    if (child == 0) {
        /* If this fails, the child reports it, and ends as its parent would. */
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
    bool is_output_alone = isatty(STDOUT_FILENO) && !isatty(STDIN_FILENO);

    err->text[0] = '\0';
    if (is_output_alone)
        return run_piped(container, command, err);
    return become(container, command, err);
}
