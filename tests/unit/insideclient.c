/* SPDX-License-Identifier: Apache-2.0 */
/* insideclient HOW [WORD...]: a program in a container that asks for a command of the
 * host as berth-inside never would. Prints the status that it is sent, or `nothing`.
 *
 * insideclient decline COMMAND...: the other side, which cannot start a process. */

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strvec.h"
#include "inside/hostcommand.h"
#include "ipc/message.h"
#include "container/become.h"
#include "ipc/handover.h"

extern char **environ;

static int connect_step(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *place = getenv(BERTH_OUTSIDE_VARIABLE);
    size_t length = strcspn(place, ".");
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path + 1, place, length);
    if (connect(fd, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) < 0)
        exit(EXIT_FAILURE);
    return fd;
}

/* The handover of WORDS: the directory, the command, its arguments. */
static int question(char **words)
{
    struct berth_strvec list = {0};
    struct berth_err err;

    berth_strvec_push(&list, strchr(getenv(BERTH_OUTSIDE_VARIABLE), '.') + 1);
    berth_strvec_push(&list, "");
    for (; *words; words++)
        berth_strvec_push(&list, *words);
    return berth_handover_write(&list, environ, &err);
}

/* With HANDOVER, and COUNT descriptors in all. */
static void send_run(int socket, int handover, size_t count)
{
    const int fds[BERTH_HOSTCOMMAND_FDS] = {0, 1, 2, handover};

    berth_message_send_fds(socket, BERTH_HOSTCOMMAND_RUN, fds, count);
}

/* As HOW says it, with WORDS. */
static void ask(int socket, const char *how, char **words)
{
    int large = memfd_create("large", 0);

    if (strcmp(how, "words") == 0)
        send_run(socket, question(words), BERTH_HOSTCOMMAND_FDS);
    if (strcmp(how, "short") == 0)
        send_run(socket, question(words), BERTH_HOSTCOMMAND_HANDOVER);
    if (strcmp(how, "garbage") == 0)
        send(socket, "\377\0 nonsense", 11, 0);
    if (strcmp(how, "socket") == 0)
        send_run(socket, socket, BERTH_HOSTCOMMAND_FDS);
    if (strcmp(how, "large") == 0 && ftruncate(large, (off_t)1 << 30) == 0)
        send_run(socket, large, BERTH_HOSTCOMMAND_FDS);
    if (strcmp(how, "words") != 0) /* the end of a program ends its command */
        shutdown(socket, SHUT_WR);
}

/* Of COMMAND, which runs; once it has said something. */
static int decline(char **command)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof(address);
    int status, fd, number = EAGAIN;
    const struct berth_message answer = {
        .kind = BERTH_HOSTCOMMAND_FAILED, .bytes = &number, .count = sizeof(number)};
    int listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    char place[sizeof(address.sun_path) + 3];

    bind(listening, (struct sockaddr *)&address, sizeof(sa_family_t));
    listen(listening, 1);
    getsockname(listening, (struct sockaddr *)&address, &length);
    snprintf(place, sizeof(place), "%.*s.1a",
             (int)(length - offsetof(struct sockaddr_un, sun_path) - 1),
             address.sun_path + 1);
    setenv(BERTH_OUTSIDE_VARIABLE, place, 1);
    if (fork() == 0) {
        execvp(command[0], command);
        _exit(EXIT_FAILURE);
    }
    fd = accept(listening, NULL, NULL);
    poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1);
    berth_message_send(fd, &answer);
    close(fd);
    wait(&status);
    return WEXITSTATUS(status);
}

/* Wait until the command has ended. Returns its status, or -1: there is no answer. */
static int await(int socket)
{
    int status;
    struct berth_message_room room = {.bytes = &status, .size = sizeof(status)};
    int kind;

    do {
        poll(&(struct pollfd){.fd = socket, .events = POLLIN}, 1, -1);
        kind = berth_message_receive(socket, &room);
    } while (kind == BERTH_HOSTCOMMAND_BEGUN);
    return kind == BERTH_HOSTCOMMAND_ENDED ? status : -1;
}

int main(int argc, char **argv)
{
    int fd, status;

    if (argc > 1 && strcmp(argv[1], "silent") == 0) {
        for (int i = 0; i < 400; i++)
            connect_step();
        puts("connected");
        fflush(stdout);
        execl("/bin/sh", "sh", "-c", "while sleep 0.02; do echo; done", (char *)NULL);
    }
    if (argc > 2 && strcmp(argv[1], "decline") == 0)
        return decline(argv + 2);
    fd = connect_step();
    ask(fd, argv[1], argv + 2);
    status = await(fd);
    if (status >= 0)
        printf("status %d\n", WEXITSTATUS(status));
    else
        puts("nothing");
    return EXIT_SUCCESS;
}
