/* SPDX-License-Identifier: Apache-2.0 */
/* berth-inside: a command of Slurm in a container. It is started under the name of the
 * command, lets the host run that command, forwards signals, and ends with the same
 * status. It is linked statically, like berth-init. */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/strvec.h"
#include "base/text.h"
#include "inside/hostcommand.h"
#include "ipc/address.h"
#include "ipc/message.h"
#include "ipc/peer.h"
#include "container/become.h"
#include "ipc/handover.h"
#include "container/limits.h"
#include "container/program.h"

extern char **environ;

/* The step has ended, or the variable is not that of the step. */
static int refuse_place(struct berth_err *err)
{
    return berth_err_set(err, "the step of this container does not answer; start the "
                              "command from a task of a step that runs");
}

/* Connect to ADDRESS. Returns a socket; -1: no process of this user listens there. */
static int connect_address(const struct berth_address *address)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    if (berth_address_connect(fd, address) == 0 &&
        berth_peer_of(fd).uid == getuid()) /* any user can bind such a name */
        return fd;
    close(fd);
    return -1;
}

/* Connect to the supervisor at PLACE, NAME.TOKEN (NULL: it is not set). Returns a
 * socket with the token in *RET_TOKEN, or -1 with a sentence in ERR. */
static int connect_supervisor(const char *place, const char **ret_token,
                              struct berth_err *err)
{
    struct berth_address address;
    const char *token;
    int name_length, fd;

    if (!place || !*place || *place == '.')
        return berth_err_set(err, BERTH_OUTSIDE_VARIABLE
                             ": not set; keep this variable, which the step has set");
    token = berth_text_after(place, '.');
    if (!token)
        return refuse_place(err);

    name_length = (int)strcspn(place, ".");
    if (berth_address_make(&address, "%.*s", name_length, place) < 0)
        return refuse_place(err);
    fd = connect_address(&address);
    if (fd < 0)
        return refuse_place(err);
    *ret_token = token;
    return fd;
}

/* Write the command, its directory, limits and environment. Returns the descriptor of a
 * handover, or -1 with a sentence in ERR. */
static int write_question(const char *token, char **argv, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_BUF struct berth_buf limits = {0};
    BERTH_FREE char *directory = getcwd(NULL, 0);

    if (!directory)
        return berth_err_set(err, "the working directory: %s; go to another one",
                             strerror(errno));
    berth_limits_list(&limits);
    if (limits.failed)
        return berth_err_oom(err);
    berth_strvec_push(&words, token);
    berth_strvec_push(&words, limits.text);
    berth_strvec_push(&words, directory);
    berth_strvec_push(&words, berth_text_base(argv[0]));
    for (char **argument = argv + 1; *argument; argument++)
        berth_strvec_push(&words, *argument);
    if (words.failed)
        return berth_err_oom(err);
    return berth_handover_write(&words, environ, err);
}

static int ask(int socket, const char *token, char **argv, struct berth_err *err)
{
    BERTH_CLOSE int question = write_question(token, argv, err);
    const int fds[BERTH_HOSTCOMMAND_FDS] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO,
                                            question};

    if (question < 0)
        return -1;
    /* if that fails, the supervisor may have sent the reason, and closed the socket */
    if (berth_message_send_fds(socket, BERTH_HOSTCOMMAND_RUN, fds,
                               BERTH_HOSTCOMMAND_FDS) < 0)
        shutdown(socket, SHUT_WR);
    return 0;
}

/* Block the signals that are forwarded, but not those that the caller ignores
 * (nohup(1)). Returns a descriptor that receives them. */
static int block_signals(void)
{
    static const int handed_on[] = {SIGINT,  SIGTERM, SIGHUP,   SIGQUIT, SIGUSR1,
                                    SIGUSR2, SIGTSTP, SIGWINCH, SIGCONT};
    struct sigaction action;
    sigset_t taken;

    sigemptyset(&taken);
    for (size_t i = 0; i < sizeof(handed_on) / sizeof(handed_on[0]); i++)
        if (sigaction(handed_on[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&taken, handed_on[i]);
    sigprocmask(SIG_BLOCK, &taken, NULL);
    return signalfd(-1, &taken, SFD_CLOEXEC);
}

/* Forward signal NUMBER to the command, and stop with it. The command is in a session
 * without a terminal, where the kernel drops SIGTSTP, so it gets SIGSTOP. */
static void forward(int socket, int number)
{
    if (number != SIGTSTP) {
        berth_message_send_fd(socket, number, -1);
        return;
    }
    berth_message_send_fd(socket, SIGSTOP, -1);
    raise(SIGSTOP);
}

/* Receive a message of the supervisor. Returns 0 with *RET_STATUS if the command has
 * ended; 1: it has not; -1 with a sentence in ERR. */
static int receive(int socket, bool *begun, int *ret_status, struct berth_err *err)
{
    int number;
    struct berth_message_room room = {.bytes = &number, .size = sizeof(number)};
    int kind;

    /* the error for data that the supervisor has not read comes before its messages */
    do {
        kind = berth_message_receive(socket, &room);
    } while (kind < 0 && errno == ECONNRESET);

    if (kind > 0 && room.count != sizeof(number))
        return refuse_place(err);
    switch (kind) {
    case BERTH_HOSTCOMMAND_BEGUN:
        *begun = true;
        return 1;
    case BERTH_HOSTCOMMAND_ENDED:
        *ret_status = number;
        return 0;
    case BERTH_HOSTCOMMAND_FAILED:
        return berth_err_spent(err, number);
    default:
        if (!*begun)
            return refuse_place(err);
        return berth_err_set(err, "the process that ran the command was killed; run "
                                  "the command again");
    }
}

/* Wait until the command has ended. Returns 0 with its status, or -1 with a sentence in
 * ERR. */
static int await(int socket, int signals, int *ret_status, struct berth_err *err)
{
    bool begun = false;
    int result = 1;
    struct pollfd fds[] = {{.fd = socket, .events = POLLIN},
                           {.fd = signals, .events = POLLIN}};
    struct signalfd_siginfo info;

    while (result > 0) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return refuse_place(err);
        if (fds[1].revents && read(signals, &info, sizeof(info)) == sizeof(info))
            forward(socket, (int)info.ssi_signo);
        if (fds[0].revents)
            result = receive(socket, &begun, ret_status, err);
    }
    return result;
}

/* End as the process ended whose STATUS wait(2) told: with its exit status, or by the
 * same signal. Leaves no core file, because that process may have left its own. */
_Noreturn static void end_as(int status)
{
    sigset_t one;
    int number;

    if (WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    number = WTERMSIG(status);
    prctl(PR_SET_DUMPABLE, 0);
    signal(number, SIG_DFL);
    kill(getpid(), number);
    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    /* the first process of a process namespace survives its own signal */
    _exit(128 + number);
}

/* Let the host run the command ARGV, and wait for its end. Returns 0 with its status,
 * or -1 with a sentence in ERR. */
static int run(char **argv, int *ret_status, struct berth_err *err)
{
    const char *place = getenv(BERTH_OUTSIDE_VARIABLE);
    const char *token = NULL;
    int signals = block_signals();
    int socket = connect_supervisor(place, &token, err);

    if (socket < 0)
        return -1;
    if (ask(socket, token, argv, err) < 0)
        return -1;
    return await(socket, signals, ret_status, err);
}

int main(int argc, char **argv)
{
    const char *name = "berth-inside";
    struct berth_err err;
    int status = 0;

    berth_fd_reserve();
    if (argc > 0)
        name = berth_text_base(argv[0]);
    /* under another name, the command of the host prints its version */
    if (strcmp(name, "berth-inside") == 0) {
        if (berth_program_prints_version(name, argc, argv))
            return EXIT_SUCCESS;
        return EXIT_FAILURE;
    }
    if (run(argv, &status, &err) < 0) {
        fprintf(stderr, "berth: %s: %s\n", name, err.text);
        return EXIT_FAILURE;
    }
    end_as(status);
}
