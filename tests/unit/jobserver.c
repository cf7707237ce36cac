/* SPDX-License-Identifier: Apache-2.0 */
/* Whom the job's server answers, and what it does with the others. */

#include "run/jobserver.h"

#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "ipc/message.h"
#include "job/protocol.h"
#include "ipc/handover.h"
#include "container/namespaces.h"
#include "plan/order.h"
#include "unit.h"

extern char **environ;

static struct berth_address address;
static pid_t server;

/* Start a server, which may have FILES descriptors. */
static void start(rlim_t files)
{
    const struct rlimit limit = {files, files};
    int listening = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    pid_t self = getpid();

    ck_assert_int_eq(berth_job_address(getuid(), (uint32_t)self, "unit", &address), 0);
    ck_assert_int_eq(berth_address_bind(listening, &address), 0);
    ck_assert_int_eq(listen(listening, 64), 0);
    server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv(BERTH_TASK_NODE, "n1", 1);
        setrlimit(RLIMIT_NOFILE, &limit);
        dup2(listening, BERTH_JOBSERVER_SOCKET);
        berth_jobserver_run(self);
        _exit(EXIT_FAILURE);
    }
    close(listening);
}

/* End the server. Returns the milliseconds of processor time that it has used. */
static long end(void)
{
    struct rusage usage;

    kill(server, SIGKILL);
    ck_assert_int_eq(wait4(server, NULL, 0, &usage), server);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

static int connected(void)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(berth_address_connect(fd, &address), 0);
    return fd;
}

/* Send a question with ORDER as a step does, with the namespaces of this process. */
static int send_question(int socket, const char *order)
{
    struct berth_strvec words = {0};
    int fds[BERTH_JOB_FDS] = {
        [BERTH_JOB_USER] = berth_namespaces_open(getpid(), "user"),
        [BERTH_JOB_MOUNTS] = berth_namespaces_open(getpid(), "mnt")};
    struct berth_err err;

    for (int i = 0; i < BERTH_JOB_WORDS; i++)
        berth_strvec_push(&words, i == BERTH_JOB_ORDER ? order : "");
    fds[BERTH_JOB_HANDOVER] = berth_handover_write(&words, environ, &err);
    berth_strvec_fini(&words);
    return berth_message_send_fds(socket, BERTH_JOB_ASK, fds, BERTH_JOB_FDS);
}

/* Ask for a container that cannot start. Returns the kind of the answer; 0: the server
 * gives none. */
static int ask(int socket)
{
    struct pollfd readable = {.fd = socket, .events = POLLIN};
    int answer;

    if (send_question(socket, "no order") < 0 || poll(&readable, 1, 20000) != 1)
        return -1;
    return berth_message_receive_fd(socket, &answer);
}

/* Ask with an order for the container NAME of the image IMAGE (NULL: left out).
 * *RET_SENTENCE is why the server refuses; "": it does not. Returns the kind of its
 * answer. */
static int ask_named(const char *name, const char *image,
                     struct berth_err *ret_sentence)
{
    struct berth_order order = BERTH_ORDER_EMPTY; /* borrows */
    BERTH_BUF struct berth_buf text = {0};
    BERTH_CLOSE int socket = connected();
    struct berth_handover said;
    int kind, fd;

    *ret_sentence->text = '\0';
    order.request.container_name = (char *)name;
    order.request.image = (char *)image;
    order.terms.writable = unit_dir;
    ck_assert_int_eq(berth_order_put(&order, &text, ret_sentence), 0);
    send_question(socket, text.text);
    ck_assert_int_eq(poll(&(struct pollfd){.fd = socket, .events = POLLIN}, 1, 20000),
                     1);
    kind = berth_message_receive_fd(socket, &fd);
    if (kind == BERTH_JOB_REFUSE) {
        ck_assert_int_eq(berth_message_read_handover(fd, &said), 0);
        berth_err_set(ret_sentence, "%s", said.words.items[0]);
        berth_handover_fini(&said);
    }
    return kind;
}

TEST(a_name_that_the_job_does_not_have_is_refused)
{
    struct berth_err err;

    start(256);
    ck_assert_int_eq(ask_named("work", NULL, &err), BERTH_JOB_REFUSE);
    ck_assert_str_eq(err.text,
                     "--container-name=work: the job has no such container on this "
                     "node; give the image in the first step that names it "
                     "(--container-image=IMAGE)");
    ck_assert_int_eq(ask_named("12.3:exec", NULL, &err), BERTH_JOB_REFUSE);
    ck_assert_int_eq(ask_named("12.3", NULL, &err), BERTH_JOB_REFUSE);
    ck_assert_str_eq(err.text,
                     "--container-name=12.3: the job has no such container on "
                     "this node; to join a step whose container has no name, "
                     "write: berth enter 12.3 COMMAND");
    ck_assert_int_eq(ask_named("12.x", NULL, &err), BERTH_JOB_REFUSE);
    ck_assert_ptr_nonnull(strstr(err.text, "give the image in the first step"));
    ck_assert_int_eq(ask_named("work:exec", "/a.sif", &err), BERTH_JOB_REFUSE);
    ck_assert_str_eq(
        err.text, "--container-name=work:exec: no step runs in a container with this "
                  "name on this node; leave out :exec to start it");
    end();
}

/* The reason is that of the start; and the name is free then. */
TEST(a_container_with_a_name_that_does_not_start_is_refused)
{
    struct berth_err err;

    start(256);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(ask_named("work:create", "/none.sif", &err), BERTH_JOB_REFUSE);
        ck_assert_ptr_nonnull(strstr(err.text, "'/none.sif'"));
    }
    ck_assert_int_eq(ask_named("work", NULL, &err), BERTH_JOB_REFUSE);
    end();
}

TEST(a_step_is_answered)
{
    start(256);
    ck_assert_int_eq(ask(connected()), BERTH_JOB_ALONE);
    end();
}

TEST(who_comes_without_the_namespaces_of_the_host_is_not)
{
    struct pollfd readable = {.events = POLLIN};
    int fd;

    start(256);
    readable.fd = fd = connected();
    ck_assert_int_eq(berth_message_send_fd(fd, BERTH_JOB_ASK, STDIN_FILENO), 0);
    ck_assert_int_eq(poll(&readable, 1, 20000), 1);
    ck_assert_int_eq(berth_message_receive_fd(fd, &(int){-1}), 0);
    end();
}

/* The process that connects is on the host; that which asks is not. */
TEST(a_program_in_an_image_is_not_answered_by_the_socket_of_another)
{
    int status, fd;
    pid_t child;

    start(256);
    fd = connected();
    usleep(100000); /* for the server, to accept */
    child = fork();
    if (child == 0)
        _exit(unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ? UNIT_CANNOT : ask(fd));
    status = unit_ended(child);
    ck_assert(status == 0 || status == UNIT_CANNOT);
    end();
}

TEST(a_server_without_descriptors_does_not_spin)
{
    enum { FILES = 256, MS = 500 };
    int fds[FILES];
    long spent;

    start(FILES);
    for (int i = 0; i < FILES; i++)
        fds[i] = connected();
    usleep(MS * 1000);
    for (int i = 0; i < FILES; i++)
        close(fds[i]);
    ck_assert_int_eq(ask(connected()), BERTH_JOB_ALONE);
    spent = end();
    ck_assert_int_lt(spent, MS / 5);
}

static int count_open(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

TEST(a_descriptor_that_nobody_asked_for_is_not_taken)
{
    const int fds[] = {0, 1, 2};
    int ends[2], fd, before;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    before = count_open();
    for (size_t sent = 1; sent <= 3; sent++) {
        ck_assert_int_eq(berth_message_send_fds(ends[0], 'x', fds, sent), 0);
        ck_assert_int_eq(berth_message_receive_fd(ends[1], &fd), 'x');
        close(fd);
        ck_assert_int_eq(count_open(), before);
    }
}
