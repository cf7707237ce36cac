/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a helper program, with limits on its time and its output. */

#include "base/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/installed.h"
#include "base/searchpath.h"

#define USUAL_DIRECTORIES "/usr/local/bin:/usr/bin:/bin:/opt/apptainer/bin"

bool berth_run_is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Returns the first DIRECTORY/NAME that is a program, of the absolute DIRECTORIES. */
static char *search(const char *directories, const char *name)
{
    struct berth_searchpath path = {.left = directories};

    while (berth_searchpath_next(&path)) {
        BERTH_FREE char *file = NULL;

        if (*path.directory != '/')
            continue;
        file = berth_searchpath_file(&path, name);
        if (file && berth_run_is_program(file))
            return berth_steal(&file);
    }
    return NULL;
}

char *berth_run_find(const char *name, const char *path)
{
    char *found = NULL;

    if (path)
        found = search(path, name);
    if (!found)
        found = search(USUAL_DIRECTORIES, name);
    if (!found)
        found = search(berth_installed(BERTH_LIBEXECDIR), name);
    return found;
}

/* Gives the program default signals, and in general a process group of its own, so that
 * it can be killed with its children. Returns 0 or an errno. */
static int spawn(const struct berth_run *run, int out, int err, pid_t *ret_pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, all;
    int number;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&how);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                       POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&how, run->gets_signals ? getpgrp() : 0);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &all);
    number = posix_spawn(ret_pid, run->argv[0], &files, &how, (char *const *)run->argv,
                         (char *const *)run->env);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return number;
}

/* Append what can be read from FD now. Returns false at the end of FD. */
static bool read_part(int fd, struct berth_buf *buf)
{
    char bytes[4096];
    ssize_t count = read(fd, bytes, sizeof(bytes));

    if (count > 0)
        berth_buf_add(buf, bytes, (size_t)count);
    return count > 0 || (count < 0 && errno == EINTR);
}

static int refuse_slow(const struct berth_run *run, struct berth_err *err)
{
    return berth_err_set(err,
                         "'%s': not done after %d seconds; check whether this node is "
                         "overloaded or a file system hangs",
                         run->argv[0], run->seconds);
}

/* Append what can be read from the output WAIT to BUF; its descriptor becomes -1 at its
 * end, so that poll(2) passes over it. */
static void read_ready(struct pollfd *wait, struct berth_buf *buf)
{
    if (wait->fd < 0 || wait->revents == 0)
        return;
    if (!read_part(wait->fd, buf))
        wait->fd = -1;
}

/* Refuses output that is not kept, or too much. */
static int check_output(const struct berth_run *run, const struct berth_ran *ran,
                        struct berth_err *err)
{
    if (ran->out.failed || ran->err.failed)
        return berth_err_oom(err);
    if (ran->out.used + ran->err.used <= run->most)
        return 0;
    return berth_err_set(
        err, "'%s': says more than %zu bytes; is it the program of that name?",
        run->argv[0], run->most);
}

/* Read OUT and ERR_FD until both are at their end, or DEADLINE has passed. */
static int read_output(const struct berth_run *run, int out, int err_fd,
                       struct berth_deadline *deadline, struct berth_ran *ran,
                       struct berth_err *err)
{
    struct pollfd fds[] = {{.fd = out, .events = POLLIN},
                           {.fd = err_fd, .events = POLLIN}};

    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        int ready;

        if (berth_deadline_left(deadline) <= 0)
            return refuse_slow(run, err);
        ready = poll(fds, 2, BERTH_DEADLINE_POLL_MS);
        if (run->tick)
            run->tick(run->data);
        if (ready <= 0)
            continue;
        read_ready(&fds[0], &ran->out);
        read_ready(&fds[1], &ran->err);
        if (check_output(run, ran, err) < 0)
            return -1;
    }
    return 0;
}

/* A program may close its outputs and go on: wait for its end, too. */
static int wait_for_end(const struct berth_run *run, pid_t pid,
                        struct berth_deadline *deadline, int *ret_status,
                        struct berth_err *err)
{
    struct timespec pause = {.tv_nsec = 100000};

    while (waitpid(pid, ret_status, WNOHANG) == 0) {
        if (berth_deadline_left(deadline) < 0)
            return refuse_slow(run, err);
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 2000000)
            pause.tv_nsec *= 2;
    }
    return 0;
}

/* Ends the program PID, and its children if it has a group of its own. */
static void end(const struct berth_run *run, pid_t pid)
{
    kill(run->gets_signals ? pid : -pid, SIGKILL);
    berth_run_wait(pid);
}

static int make_pipes(int out[2], int errors[2], struct berth_err *err)
{
    if (pipe2(out, O_CLOEXEC) == 0) {
        if (pipe2(errors, O_CLOEXEC) == 0)
            return 0;
        close(out[0]);
        close(out[1]);
    }
    return berth_err_spent(err, errno);
}

/* Starts the program. *RET_OUT and *RET_ERRORS, which the caller closes, are where its
 * output and errors can be read. */
static int start(const struct berth_run *run, pid_t *ret_pid, int *ret_out,
                 int *ret_errors, struct berth_err *err)
{
    int out[2], errors[2];
    int number;

    if (make_pipes(out, errors, err) < 0)
        return -1;
    number = spawn(run, out[1], errors[1], ret_pid);
    close(out[1]);
    close(errors[1]);
    if (number != 0) {
        close(out[0]);
        close(errors[0]);
        errno = number;
        return berth_err_file(err, run->argv[0], "started");
    }
    *ret_out = out[0];
    *ret_errors = errors[0];
    return 0;
}

int berth_run(const struct berth_run *run, struct berth_ran *ret_ran,
              struct berth_err *err)
{
    BERTH_RAN struct berth_ran ran = {.status = 0};
    struct berth_deadline *deadline = run->deadline;
    struct berth_deadline usual;
    int out = -1, errors = -1;
    int result;
    pid_t pid;

    if (!deadline) {
        deadline = &usual;
        berth_deadline_begin(deadline, (unsigned int)run->seconds);
    }
    if (start(run, &pid, &out, &errors, err) < 0)
        return -1;

    result = read_output(run, out, errors, deadline, &ran, err);
    if (result < 0)
        end(run, pid);
    close(out);
    close(errors);
    if (result < 0)
        return -1;
    if (wait_for_end(run, pid, deadline, &ran.status, err) < 0) {
        end(run, pid);
        return -1;
    }
    *ret_ran = berth_steal(&ran);
    return 0;
}

int berth_run_wait(pid_t pid)
{
    int status = 0;
    pid_t ended;

    if (pid <= 0)
        return 0;
    do
        ended = waitpid(pid, &status, 0);
    while (ended < 0 && errno == EINTR);
    return status;
}

void berth_ran_fini(struct berth_ran *ran)
{
    berth_buf_fini(&ran->out);
    berth_buf_fini(&ran->err);
}

const char *berth_ran_last_line(struct berth_ran *ran)
{
    char *text = ran->err.used ? ran->err.text : ran->out.text;
    char *end, *line;

    if (WIFSIGNALED(ran->status))
        return strsignal(WTERMSIG(ran->status));
    if (!text)
        return "";
    end = text + strlen(text);
    while (end > text && strchr(" \r\n", end[-1]))
        end--;
    *end = '\0';
    line = strrchr(text, '\n');
    return line ? line + 1 : text;
}
