/* SPDX-License-Identifier: Apache-2.0 */
/* Runs commands of the host for programs of a container. */

#include "inside/hostserver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/detach.h"
#include "base/environ.h"
#include "base/run.h"
#include "base/text.h"
#include "ipc/address.h"
#include "ipc/message.h"
#include "ipc/peer.h"
#include "inside/hostenv.h"
#include "container/start.h"
#include "container/become.h"
#include "container/join.h"
#include "container/limits.h"
#include "container/program.h"
#include "inside/hostfiles.h"

/* The most commands at a time; the next one waits until one ends. */
enum { COMMANDS_MAX = 1024 };

enum { STREAMS = BERTH_HOSTCOMMAND_HANDOVER };

/* One command, in the process that runs it. */
struct command {
    const struct berth_hostcommand *offer;
    int socket;
    struct berth_handover question;
    int fds[BERTH_HOSTCOMMAND_FDS];
    char *program; /* its path */
    struct berth_strvec environment;
    int children; /* a descriptor that can be read when a child has ended */
    pid_t pid;
};

/* Returns a socket that listens at a name that the kernel has chosen; -1: there is
 * none. */
static int open_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    if (berth_peer_name(fd) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    close(fd);
    return -1;
}

static int make_token(char *ret_token)
{
    unsigned char bytes[BERTH_HOSTCOMMAND_TOKEN / 2];

    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return -1;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(ret_token + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

void berth_hostcommand_open(const struct berth_launch *launch,
                            struct berth_hostcommand *ret)
{
    const char *inside = berth_order_inside(launch->order, NULL);

    *ret = BERTH_HOSTCOMMAND_NONE;
    ret->launch = launch;
    if (!inside || berth_request_is_explained(launch->request) ||
        make_token(ret->token) < 0)
        return;
    ret->programs =
        open(berth_program_commands(inside), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (ret->programs < 0)
        return;
    ret->socket = open_socket();
    if (ret->socket < 0) {
        close(ret->programs);
        ret->programs = -1;
    }
}

void berth_hostcommand_list(const struct berth_hostcommand *hostcommand, pid_t holder,
                            char *const *environment, struct berth_strvec *ret)
{
    const char *path = berth_environ_value(environment, "PATH");
    struct berth_address address;

    if (hostcommand->socket < 0 || berth_address_of(hostcommand->socket, &address) < 0)
        return;
    berth_strvec_pushf(ret, "PATH=%s:" BERTH_PROGRAM_DIRECTORY,
                       berth_text_or(path, BERTH_PROGRAM_PATH), holder,
                       BERTH_START_PROGRAMS);
    berth_strvec_pushf(ret, BERTH_OUTSIDE_PLACE "=" BERTH_PROGRAM_DIRECTORY, holder,
                       BERTH_START_PROGRAMS);
    berth_strvec_pushf(ret, BERTH_OUTSIDE_VARIABLE "=%s.%s",
                       berth_address_text(&address), hostcommand->token);
}

/* Send an answer of inside/hostcommand.h. The program may have ended. */
static void send_answer(int socket, enum berth_hostcommand_kind kind, int number)
{
    const struct berth_message message = {
        .kind = kind, .bytes = &number, .count = sizeof(number)};

    berth_message_send(socket, &message);
}

/* Print ERR on the standard error of the program in the container, which ends. Returns
 * the exit status of this process. */
static int refuse(const struct command *command, struct berth_err *err)
{
    const char *name = command->question.words.items[BERTH_HOSTCOMMAND_NAME];

    dprintf(command->fds[STDERR_FILENO], "berth: %s: %s\n", name, err->text);
    send_answer(command->socket, BERTH_HOSTCOMMAND_ENDED, W_EXITCODE(BERTH_REFUSED, 0));
    return EXIT_FAILURE;
}

static int receive_question(struct command *command)
{
    enum { PATIENCE_MS = 10000 };
    struct pollfd fd = {.fd = command->socket, .events = POLLIN};
    struct berth_handover *question = &command->question;
    int kind, handover;

    if (poll(&fd, 1, PATIENCE_MS) != 1)
        return -1;
    kind =
        berth_message_receive_fds(command->socket, command->fds, BERTH_HOSTCOMMAND_FDS);
    handover = command->fds[BERTH_HOSTCOMMAND_HANDOVER];
    if (kind != BERTH_HOSTCOMMAND_RUN || handover < 0)
        return -1;

    if (berth_message_read_handover(handover, question) < 0 ||
        question->words.count < BERTH_HOSTCOMMAND_WORDS)
        return -1;
    /* Another program of the user can connect, but only one of this container has the
     * token. */
    if (strcmp(question->words.items[BERTH_HOSTCOMMAND_PROOF], command->offer->token) !=
        0)
        return -1;
    return 0;
}

/* May NAME be run? Yes, if the directory of commands of the container has it. */
static bool is_offered(const struct berth_hostcommand *offer, const char *name)
{
    bool is_path = strchr(name, '/');

    /* no way out of the directory, and not the directory itself */
    if (!*name || *name == '.' || is_path)
        return false;
    return faccessat(offer->programs, name, X_OK, 0) == 0;
}

static int open_children(void)
{
    sigset_t child;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* How long a file system may take to answer. */
enum { LOOK_MS = 60 * 1000 };

/* A file of which a program in the container knows the path. */
struct file {
    struct berth_holder program;
    const char *directory; /* of the program */
    const char *path;
};

/* In a child, whose process is not to be traced by programs of the image: send the
 * state of DATA, a struct file, if it is there. */
static int look_inside(int channel, void *data)
{
    const struct file *file = data;
    struct stat status;

    prctl(PR_SET_DUMPABLE, 0);
    if (berth_join(file->program, NULL) < 0 || chdir(file->directory) < 0)
        return EXIT_FAILURE;
    if (stat(file->path, &status) < 0)
        return EXIT_FAILURE;
    if (send(channel, &status, sizeof(status), MSG_NOSIGNAL) < 0)
        return EXIT_FAILURE;
    return EXIT_SUCCESS;
}

/* stat(2) as the program that asks. */
static int look(const void *data, const char *path, struct stat *ret)
{
    const struct command *command = data;
    struct file file = {.program = berth_holder_of(berth_peer_of(command->socket).pid),
                        .directory =
                            command->question.words.items[BERTH_HOSTCOMMAND_DIRECTORY],
                        .path = path};
    struct pollfd answer = {.events = POLLIN};
    bool is_there = false;
    pid_t child = berth_child_with_channel(look_inside, &file, 0, &answer.fd);

    if (child < 0)
        return -1;
    if (poll(&answer, 1, LOOK_MS) == 1)
        is_there = recv(answer.fd, ret, sizeof(*ret), 0) == sizeof(*ret);
    close(answer.fd);
    kill(child, SIGKILL);
    berth_run_wait(child);
    if (!is_there)
        return -1;
    return 0;
}

/* Find the command on this host. */
static int find_program(struct command *command, struct berth_err *err)
{
    const struct berth_launch *launch = command->offer->launch;
    const char *name = command->question.words.items[BERTH_HOSTCOMMAND_NAME];

    if (!is_offered(command->offer, name))
        return berth_err_set(err, "this site offers no such command in a container; "
                                  "run it on the host");
    command->program =
        berth_run_find(name, berth_environ_value(launch->environment, "PATH"));
    if (!command->program)
        return berth_err_set(err,
                             "the node has no such command; ask the administrators "
                             "to install it there");
    return 0;
}

/* Change to the working directory of the program. Where the host does not have it, a
 * step in the image may have it all the same: then srun itself runs elsewhere, and
 * OUTSIDE gets the directory. Returns 0 with the directory of the command, or -1 with a
 * sentence in ERR. */
static int change_directory(const struct command *command,
                            struct berth_hostenv *outside, const char **ret_directory,
                            struct berth_err *err)
{
    const struct berth_launch *launch = command->offer->launch;
    const char *directory = command->question.words.items[BERTH_HOSTCOMMAND_DIRECTORY];
    bool is_srun = strcmp(outside->command[0], "srun") == 0;

    *ret_directory = directory;
    if (chdir(directory) == 0)
        return 0;
    if (!is_srun || berth_hostenv_has_image(outside->command))
        return berth_err_set(err,
                             "the working directory '%s' is not on the host: %s; "
                             "change to one that is",
                             directory, strerror(errno));

    outside->workdir = directory;
    *ret_directory = "/";
    if (launch->directory && chdir(launch->directory) == 0)
        *ret_directory = launch->directory;
    return 0;
}

/* The request of the step: as the user asked, where the site has changed it. */
static const struct berth_request *request_of(const struct berth_order *order)
{
    if (order->asked.image)
        return &order->asked;
    return &order->request;
}

static int prepare(struct command *command, struct berth_err *err)
{
    const struct berth_launch *launch = command->offer->launch;
    struct berth_hostenv outside = {.task = launch->environment,
                                    .container = command->offer->container.items,
                                    .program = command->question.environment.items,
                                    .request = request_of(launch->order),
                                    .command = command->question.words.items +
                                               BERTH_HOSTCOMMAND_NAME,
                                    .pytorch = &launch->order->terms.pytorch,
                                    .is_script = launch->order->script};
    const struct berth_hostfiles files = {look, command, launch->environment};
    const char *directory;

    command->children = open_children();
    if (command->children < 0)
        return berth_err_spent(err, errno);
    if (find_program(command, err) < 0 ||
        change_directory(command, &outside, &directory, err) < 0)
        return -1;

    berth_strvec_pushf(&command->environment, "PWD=%s", directory);
    if (berth_hostenv_environment(&outside, &command->environment, err) < 0)
        return -1;
    berth_cloexec_from(STREAMS);
    return berth_hostfiles_check(&files, outside.command, command->environment.items,
                                 err);
}

/* In a child: become DATA, a struct command. */
static int become(void *data)
{
    const struct command *command = data;
    char **words = command->question.words.items + BERTH_HOSTCOMMAND_NAME;

    setsid();
    for (int i = 0; i < STREAMS; i++)
        dup2(command->fds[i], i);
    berth_limits_restore(command->question.words.items[BERTH_HOSTCOMMAND_LIMITS]);
    sigprocmask(SIG_SETMASK, command->offer->mask, NULL);
    execve(command->program, words, command->environment.items);
    dprintf(STDERR_FILENO, "berth: %s: '%s': cannot be started: %s\n", words[0],
            command->program, strerror(errno));
    return BERTH_NOT_EXECUTABLE;
}

/* Forward the signal that the program got to its command. If the program has ended, end
 * the command with SIGTERM. Returns whether the program runs. */
static bool forward(const struct command *command)
{
    int fd;
    int kind = berth_message_receive_fd(command->socket, &fd);

    if (fd >= 0)
        close(fd);
    if (kind > 0 && kind < 32)
        kill(command->pid, kind);
    if (kind > 0 || (kind < 0 && errno == EAGAIN))
        return true;
    kill(command->pid, SIGCONT);
    kill(command->pid, SIGTERM);
    return false;
}

/* Wait until the command has ended. Returns its status, as waitpid(2) tells it. */
static int await(const struct command *command)
{
    /* For the command to end: srun waits for KillWait (slurm.conf). */
    enum { PATIENCE_MS = 60000 };
    struct pollfd fds[] = {{.fd = command->socket, .events = POLLIN},
                           {.fd = command->children, .events = POLLIN}};
    int patience = -1; /* as long as the program runs */
    struct signalfd_siginfo info;
    int status;

    while (waitpid(command->pid, &status, WNOHANG) == 0) {
        int count = poll(fds, 2, patience);

        if (count == 0)
            kill(command->pid, SIGKILL);
        if (count <= 0)
            continue;
        if (fds[1].revents)
            (void)!read(command->children, &info, sizeof(info));
        if (fds[0].revents && !forward(command)) {
            fds[0].fd = -1;
            patience = PATIENCE_MS;
        }
    }
    return status;
}

/* In a child: run DATA, a struct command, for the program at its socket. */
static int run(void *data)
{
    struct command *command = data;
    struct berth_err err;

    /* until the program has shown the token, this process may have a socket of any
     * program in an image, which could pass as a process of the host with it; nobody
     * believes a process that is not dumpable (ipc/peer.h) */
    prctl(PR_SET_DUMPABLE, 0);
    if (receive_question(command) < 0)
        return EXIT_FAILURE;
    prctl(PR_SET_DUMPABLE, 1);

    send_answer(command->socket, BERTH_HOSTCOMMAND_BEGUN, 0);
    if (prepare(command, &err) < 0)
        return refuse(command, &err);
    command->pid = berth_child(become, command, SIGTERM);
    if (command->pid < 0) {
        berth_err_spent(&err, errno);
        return refuse(command, &err);
    }

    for (int i = 0; i < STREAMS; i++)
        close(command->fds[i]);
    send_answer(command->socket, BERTH_HOSTCOMMAND_ENDED, await(command));
    return EXIT_SUCCESS;
}

/* Tell the program at SOCKET that no process can be started for it, because of ERROR
 * (errno). */
static void refuse_start(int socket, int error)
{
    send_answer(socket, BERTH_HOSTCOMMAND_FAILED, error);
    close(socket);
}

/* Accept a program and start the process of its command. Returns whether one was
 * started. */
static bool start_command(const struct berth_hostcommand *offer)
{
    struct command command = {.offer = offer};
    pid_t child;

    command.socket = berth_peer_accept(offer->socket);
    if (command.socket < 0)
        return false;
    child = berth_child(run, &command, SIGKILL);
    if (child < 0) {
        refuse_start(command.socket, errno);
        return false;
    }
    close(command.socket);
    return true;
}

/* In a child: answer programs that connect to DATA, a struct berth_hostcommand, until
 * the supervisor kills this process, or ends. Without a signalfd, look for ended
 * children once a second. */
static int serve(void *data)
{
    enum { AGAIN_MS = 1000 };
    const struct berth_hostcommand *offer = data;
    struct pollfd fds[] = {{.fd = offer->socket},
                           {.fd = open_children(), .events = POLLIN}};
    struct signalfd_siginfo info;
    int most = -1;
    int count = 0;

    if (fds[1].fd < 0)
        most = AGAIN_MS;
    for (;;) {
        int ready;

        fds[0].events = 0; /* at the limit, programs wait in the queue of the socket */
        if (count < COMMANDS_MAX)
            fds[0].events = POLLIN;
        ready = poll(fds, 2, most);
        if (ready < 0 && errno != EINTR)
            return EXIT_FAILURE; /* the next program starts another server */
        if (ready < 0)
            continue;
        if (fds[1].revents)
            (void)!read(fds[1].fd, &info, sizeof(info));
        while (waitpid(-1, NULL, WNOHANG) > 0)
            count--;
        if (fds[0].revents && start_command(offer))
            count++;
    }
}

void berth_hostcommand_serve(struct berth_hostcommand *hostcommand)
{
    pid_t child = berth_child(serve, hostcommand, SIGKILL);
    int number = errno;
    int socket;

    if (child > 0) {
        hostcommand->server = child;
        return;
    }
    hostcommand->server = 0;
    socket = berth_peer_accept(hostcommand->socket);
    if (socket >= 0)
        refuse_start(socket, number);
}
