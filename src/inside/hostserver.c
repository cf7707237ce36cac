/* SPDX-License-Identifier: Apache-2.0 */
/* Runs commands of the host for programs of a container. */

#include "inside/hostserver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/detach.h"
#include "base/environ.h"
#include "base/run.h"
#include "ipc/message.h"
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

static int open_socket(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    /* without a name, the kernel chooses a free one */
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)) == 0 &&
        listen(fd, SOMAXCONN) == 0)
        return fd;
    if (fd >= 0)
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
    struct sockaddr_un address = {0};
    socklen_t length = sizeof(address);
    const char *path;

    if (hostcommand->socket < 0 ||
        getsockname(hostcommand->socket, (struct sockaddr *)&address, &length) < 0)
        return;
    length -= offsetof(struct sockaddr_un, sun_path) + 1;
    path = berth_environ_value(environment, "PATH");
    berth_strvec_pushf(ret, "PATH=%s:" BERTH_PROGRAM_DIRECTORY,
                       path ? path : BERTH_PROGRAM_PATH, holder, BERTH_START_PROGRAMS);
    berth_strvec_pushf(ret, BERTH_OUTSIDE_PLACE "=" BERTH_PROGRAM_DIRECTORY, holder,
                       BERTH_START_PROGRAMS);
    berth_strvec_pushf(ret, BERTH_OUTSIDE_VARIABLE "=%.*s.%s", (int)length,
                       address.sun_path + 1, hostcommand->token);
}

/* Send ANSWER, an int of inside/hostcommand.h. */
static void send_answer(int socket, int answer)
{
    send(socket, &answer, sizeof(answer), MSG_NOSIGNAL);
}

/* Print ERR on the standard error of the program in the container, and end. */
_Noreturn static void refuse(const struct command *command, struct berth_err *err)
{
    const char *name = command->question.words.items[BERTH_HOSTCOMMAND_NAME];

    dprintf(command->fds[STDERR_FILENO], "berth: %s: %s\n", name, err->text);
    send_answer(command->socket, W_EXITCODE(BERTH_REFUSED, 0));
    _exit(EXIT_FAILURE);
}

static int receive_question(struct command *command)
{
    enum { PATIENCE_MS = 10000 };
    struct pollfd fd = {.fd = command->socket, .events = POLLIN};
    struct berth_handover *question = &command->question;
    int kind, handover;

    if (poll(&fd, 1, PATIENCE_MS) != 1)
        return -1;
    kind = berth_job_receive_all(command->socket, command->fds, BERTH_HOSTCOMMAND_FDS);
    handover = command->fds[BERTH_HOSTCOMMAND_HANDOVER];
    if (kind != BERTH_HOSTCOMMAND_RUN || handover < 0)
        return -1;

    if (berth_job_read(handover, question) < 0 ||
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
    return *name && *name != '.' && !strchr(name, '/') &&
           faccessat(offer->programs, name, X_OK, 0) == 0;
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

/* In a child: stat(2) as the program that asks, whose process is not to be traced by
 * programs of the image. */
static int look(const void *data, const char *path, struct stat *ret)
{
    const struct command *command = data;
    struct berth_holder program = berth_holder_of(berth_job_peer(command->socket).pid);
    bool is_there = false;
    int ends[2];
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    child = fork();
    if (child == 0) {
        prctl(PR_SET_DUMPABLE, 0);
        if (berth_join(program, NULL) == 0 &&
            chdir(command->question.words.items[BERTH_HOSTCOMMAND_DIRECTORY]) == 0 &&
            stat(path, ret) == 0)
            (void)!write(ends[1], ret, sizeof(*ret));
        _exit(EXIT_SUCCESS);
    }
    close(ends[1]);
    is_there =
        poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, LOOK_MS) == 1 &&
        read(ends[0], ret, sizeof(*ret)) == sizeof(*ret);
    if (child > 0) /* -1 would be all processes of the user */
        kill(child, SIGKILL);
    close(ends[0]);
    berth_run_wait(child);
    return is_there ? 0 : -1;
}

static int prepare(struct command *command, struct berth_err *err)
{
    const struct berth_launch *launch = command->offer->launch;
    char **words = command->question.words.items;
    const char *name = words[BERTH_HOSTCOMMAND_NAME];
    const char *directory = words[BERTH_HOSTCOMMAND_DIRECTORY];
    struct berth_hostenv outside = {.task = launch->environment,
                                    .container = command->offer->container.items,
                                    .program = command->question.environment.items,
                                    .request = launch->order->asked.image
                                                   ? &launch->order->asked
                                                   : &launch->order->request,
                                    .command = words + BERTH_HOSTCOMMAND_NAME,
                                    .is_script = launch->order->script};
    const struct berth_hostfiles files = {look, command, launch->environment};

    command->children = open_children();
    if (command->children < 0)
        return berth_err_spent(err, errno);
    if (!is_offered(command->offer, name))
        return berth_err_set(err, "this site offers no such command in a container; "
                                  "run it on the host");
    command->program =
        berth_run_find(name, berth_environ_value(launch->environment, "PATH"));
    if (!command->program)
        return berth_err_set(err,
                             "the node has no such command; ask the administrators "
                             "to install it there");
    if (chdir(directory) < 0) {
        if (strcmp(name, "srun") != 0 || berth_hostenv_has_image(outside.command))
            return berth_err_set(err,
                                 "the working directory '%s' is not on the host: %s; "
                                 "change to one that is",
                                 directory, strerror(errno));
        /* A step in the image may have it all the same; srun itself runs elsewhere. */
        outside.workdir = directory;
        directory = "/";
        if (launch->directory && chdir(launch->directory) == 0)
            directory = launch->directory;
    }
    berth_strvec_pushf(&command->environment, "PWD=%s", directory);
    if (berth_hostenv_environment(&outside, &command->environment, err) < 0)
        return -1;
    berth_cloexec_from(STREAMS);
    return berth_hostfiles_check(&files, outside.command, command->environment.items,
                                 err);
}

_Noreturn static void become(const struct command *command, pid_t parent)
{
    char **words = command->question.words.items + BERTH_HOSTCOMMAND_NAME;

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    setsid();
    for (int i = 0; i < STREAMS; i++)
        dup2(command->fds[i], i);
    berth_limits_restore(command->question.words.items[BERTH_HOSTCOMMAND_LIMITS]);
    sigprocmask(SIG_SETMASK, command->offer->mask, NULL);
    execve(command->program, words, command->environment.items);
    dprintf(STDERR_FILENO, "berth: %s: '%s': cannot be started: %s\n", words[0],
            command->program, strerror(errno));
    _exit(BERTH_NOT_EXECUTABLE);
}

/* Forward the signal that the program got to its command. If the program has ended, end
 * the command with SIGTERM. Returns whether the program runs. */
static bool forward(const struct command *command)
{
    int fd;
    int kind = berth_job_receive(command->socket, &fd);

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
    struct signalfd_siginfo info;
    int status;

    while (waitpid(command->pid, &status, WNOHANG) == 0) {
        int count = poll(fds, 2, fds[0].fd < 0 ? PATIENCE_MS : -1);

        if (count == 0)
            kill(command->pid, SIGKILL);
        if (count > 0 && fds[1].revents)
            (void)!read(command->children, &info, sizeof(info));
        if (count > 0 && fds[0].revents && !forward(command))
            fds[0].fd = -1;
    }
    return status;
}

/* In a child: run the command that the program at SOCKET asks for. */
_Noreturn static void run(const struct berth_hostcommand *offer, int socket)
{
    struct command command = {.offer = offer, .socket = socket};
    struct berth_err err;
    pid_t self = getpid();

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* until the program has shown the token, this process may have a socket of any
     * program in an image, which could stand for a process of the host with it; nobody
     * believes a process that is not dumpable (ipc/peer.h) */
    prctl(PR_SET_DUMPABLE, 0);
    if (receive_question(&command) < 0)
        _exit(EXIT_FAILURE);
    prctl(PR_SET_DUMPABLE, 1);
    send_answer(socket, BERTH_HOSTCOMMAND_BEGUN);
    if (prepare(&command, &err) < 0)
        refuse(&command, &err);
    command.pid = fork();
    if (command.pid == 0)
        become(&command, self);
    if (command.pid < 0) {
        berth_err_spent(&err, errno);
        refuse(&command, &err);
    }
    for (int i = 0; i < STREAMS; i++)
        close(command.fds[i]);
    send_answer(socket, await(&command));
    _exit(EXIT_SUCCESS);
}

/* Tell the program at SOCKET that no process can be started for it, because of ERROR
 * (errno). */
static void refuse_start(int socket, int error)
{
    if (socket < 0)
        return;
    send_answer(socket, -error);
    close(socket);
}

/* Accept a program and start the process of its command. Returns how many were started:
 * 1 or 0. */
static int start_command(const struct berth_hostcommand *offer)
{
    int socket = berth_job_accept(offer->socket);
    pid_t child = socket >= 0 ? fork() : -1;

    if (child == 0)
        run(offer, socket);
    if (child < 0)
        refuse_start(socket, errno);
    else
        close(socket);
    return child > 0;
}

/* Answer programs until the supervisor PARENT ends, or kills this process. Without a
 * signalfd, look for ended children once a second. */
_Noreturn static void serve(const struct berth_hostcommand *offer, pid_t parent)
{
    enum { AGAIN_MS = 1000 };
    struct pollfd fds[] = {{.fd = offer->socket}, {.fd = open_children()}};
    struct signalfd_siginfo info;
    int count = 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent) {
        fds[0].events = count < COMMANDS_MAX ? POLLIN : 0;
        fds[1].events = POLLIN;
        if (poll(fds, 2, fds[1].fd < 0 ? AGAIN_MS : -1) < 0)
            continue;
        if (fds[1].revents)
            (void)!read(fds[1].fd, &info, sizeof(info));
        while (waitpid(-1, NULL, WNOHANG) > 0)
            count--;
        if (fds[0].revents)
            count += start_command(offer);
    }
    _exit(EXIT_SUCCESS);
}

void berth_hostcommand_serve(struct berth_hostcommand *hostcommand)
{
    pid_t parent = getpid();
    pid_t child = fork();

    if (child == 0)
        serve(hostcommand, parent);
    if (child < 0)
        refuse_start(berth_job_accept(hostcommand->socket), errno);
    hostcommand->server = child > 0 ? child : 0;
}
