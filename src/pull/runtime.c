/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the runtime's pull as a child of a program that is not ours (srun). If the user
 * has a terminal, the child gets one, too: without a terminal it shows no progress. */

#include "pull/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* Make a terminal of the size of LIKE: ENDS[1] for the child, ENDS[0] for us. */
static int make_terminal(int like, int ends[2])
{
    struct winsize size;
    struct termios mode;
    char name[64];

    ends[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ends[0] < 0)
        return -1;
    if (grantpt(ends[0]) < 0 || unlockpt(ends[0]) < 0 ||
        ptsname_r(ends[0], name, sizeof(name)) != 0 ||
        (ends[1] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0) {
        close(ends[0]);
        return -1;
    }
    if (tcgetattr(ends[1], &mode) == 0) {
        cfmakeraw(&mode);
        tcsetattr(ends[1], TCSANOW, &mode);
    }
    if (ioctl(like, TIOCGWINSZ, &size) == 0)
        ioctl(ends[1], TIOCSWINSZ, &size);
    return 0;
}

/* In the child: remove srun's handlers and mask of signals, but still ignore what srun
 * ignores (nohup). */
static void reset_signals(void)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    struct sigaction action;
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaction(number, &usual, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void berth_pull_unblock_signals(sigset_t *ret_before)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    struct sigaction action;
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL)
            sigaddset(&set, numbers[i]);
    sigprocmask(SIG_UNBLOCK, &set, ret_before);
}

/* In the child, after fork(): execute the runtime. Calls only functions that need no
 * lock, which another thread of srun may have held. */
static void execute(const char *const *argv, const char *const *env, int out,
                    pid_t parent)
{
    int in = open("/dev/null", O_RDONLY);

    reset_signals();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    if (in < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(out, STDERR_FILENO) < 0)
        _exit(EXIT_FAILURE);
    execve(argv[0], (char *const *)argv, (char *const *)env);
    _exit(127);
}

/* Read FD to its end, which on a terminal is EIO. */
static void read_output(int fd, struct berth_listen *listen)
{
    char bytes[4096];
    ssize_t got;

    while ((got = read(fd, bytes, sizeof(bytes))) != 0) {
        if (got > 0)
            berth_listen_add(listen, bytes, (size_t)got);
        else if (errno != EINTR)
            return;
    }
}

int berth_pull_run(const char *const *argv, const char *const *env,
                   struct berth_listen *listen, int *ret_status, struct berth_err *err)
{
    pid_t parent = getpid();
    sigset_t before;
    pid_t child;
    int ends[2];

    if ((listen->terminal < 0 || make_terminal(listen->terminal, ends) < 0) &&
        pipe2(ends, O_CLOEXEC) < 0)
        return berth_err_set(err, "cannot make a pipe: %s", strerror(errno));
    child = fork();
    if (child == 0)
        execute(argv, env, ends[1], parent);
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return berth_err_set(err, "cannot start a process: %s", strerror(errno));
    }
    berth_pull_unblock_signals(&before);
    read_output(ends[0], listen);
    close(ends[0]);
    while (waitpid(child, ret_status, 0) < 0)
        if (errno != EINTR) {
            *ret_status = 0;
            break;
        }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return 0;
}
