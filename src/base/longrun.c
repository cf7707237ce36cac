/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a long program under a guard: a process of ours between us and it. The guard is
 * the subreaper of all processes of the program, so that none gets away from it. */

#include "base/longrun.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/run.h"
#include "base/tree.h"

/* In the child: remove the handlers of our process (srun has some), but still ignore
 * what it ignores (nohup). */
static void reset_handlers(void)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    struct sigaction action;

    for (int number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaction(number, &usual, NULL);
    sigaction(SIGCHLD, &usual, NULL);
}

/* Become the program, in a process group of its own: signals of the terminal go to our
 * process, whose death ends this one. */
_Noreturn static void become_program(const struct berth_longrun *run, int out)
{
    int in = open("/dev/null", O_RDONLY);
    sigset_t none;

    setpgid(0, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (in < 0 || dup2(in, STDIN_FILENO) < 0)
        _exit(EXIT_FAILURE);
    if (dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)
        _exit(EXIT_FAILURE);
    execve(run->argv[0], (char *const *)run->argv, (char *const *)run->env);
    _exit(127);
}

/* Kill each child of this process. */
static void kill_children(void)
{
    char path[64], text[4096];
    char *next = text;
    BERTH_CLOSE int fd = -1;
    ssize_t length;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    length = read(fd, text, sizeof(text) - 1);
    if (length <= 0)
        return;
    text[length] = '\0';
    for (;;) {
        char *end;
        long child = strtol(next, &end, 10);

        if (end == next)
            return;
        kill((pid_t)child, SIGKILL);
        next = end;
    }
}

/* Kill the process group of PROGRAM, and all processes that it has started. Those of a
 * killed process become children of this one, the subreaper. */
static void kill_all(pid_t program)
{
    enum { LONGEST = 30000 }; /* ms; a process in a system call that hangs stays */
    const struct timespec moment = {.tv_nsec = 2000000};
    int64_t began = berth_clock();

    kill(-program, SIGKILL);
    while (waitpid(-1, NULL, WNOHANG) >= 0 && berth_clock() - began < LONGEST) {
        kill_children();
        nanosleep(&moment, NULL);
    }
}

/* End as the program did, so that who waits for this process learns that. */
_Noreturn static void end_as(int status)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    const struct rlimit no_core = {0};
    sigset_t none;

    if (WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    setrlimit(RLIMIT_CORE, &no_core);
    sigaction(WTERMSIG(status), &usual, NULL);
    raise(WTERMSIG(status));
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL); /* the signal arrives here */
    _exit(EXIT_FAILURE);
}

/* The guard of PARENT. Only the death of PARENT and the end of the program count:
 * whether Ctrl-C or SIGHUP end PARENT is its own matter. */
_Noreturn static void guard(const struct berth_longrun *run, int out, pid_t parent)
{
    sigset_t wanted, all;
    int status = 0;
    pid_t program;

    /* All signals are blocked: those that count are waited for. */
    reset_handlers();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
    program = fork();
    if (program == 0)
        become_program(run, out);
    close(out);
    if (program < 0)
        _exit(EXIT_FAILURE);

    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    sigaddset(&wanted, SIGUSR1);
    while (getppid() == parent && waitpid(program, &status, WNOHANG) == 0)
        sigwaitinfo(&wanted, NULL);
    kill_all(program);
    if (getppid() == parent)
        end_as(status);

    /* PARENT is dead, and cannot remove what the program has left. */
    for (const char *const *scrap = run->scraps; *scrap; scrap++)
        berth_tree_remove(AT_FDCWD, *scrap);
    _exit(EXIT_FAILURE);
}

/* Hand on the whole lines in TEXT, and keep the rest; at the end of output that, too.
 */
static void hand_on(const struct berth_longrun *run, struct berth_buf *text,
                    bool is_end)
{
    char *line = text->text;
    char *end;

    if (!line)
        return;
    end = strpbrk(line, "\r\n");
    while (end) {
        *end = '\0';
        run->line(run->data, line);
        line = end + 1;
        end = strpbrk(line, "\r\n");
    }
    if (is_end && *line) {
        run->line(run->data, line);
        line += strlen(line);
    }
    text->used -= (size_t)(line - text->text);
    memmove(text->text, line, text->used + 1);
}

static void read_output(const struct berth_longrun *run, int fd)
{
    enum { TICK = 200, LONGEST = 1 << 16 };
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    BERTH_BUF struct berth_buf text = {0};
    char bytes[4096];
    ssize_t count;

    for (;;) {
        int ready = poll(&wait, 1, TICK);

        run->tick(run->data);
        if (ready <= 0)
            continue;
        count = read(fd, bytes, sizeof(bytes));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        berth_buf_add(&text, bytes, (size_t)count);
        hand_on(run, &text, text.used > LONGEST);
    }
    hand_on(run, &text, true);
}

int berth_longrun(const struct berth_longrun *run, int *ret_status,
                  struct berth_err *err)
{
    pid_t parent = getpid();
    pid_t child;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return berth_err_spent(err, errno);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        guard(run, ends[1], parent);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return berth_err_spent(err, errno);
    }
    read_output(run, ends[0]);
    close(ends[0]);
    *ret_status = berth_run_wait(child);
    return 0;
}
