/* SPDX-License-Identifier: Apache-2.0 */
/* Programs ask for commands of the host where nobody can answer. */

#include "inside/hostserver.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/message.h"
#include "container/become.h"
#include "unit.h"

/* Instead of the C library's: as where no descriptor is left. */
int signalfd(int fd, const sigset_t *mask, int flags)
{
    (void)fd, (void)mask, (void)flags;
    errno = EMFILE;
    return -1;
}

/* An offer, and a program that has connected. */
static struct berth_hostcommand offer(int *ret_program)
{
    struct berth_hostcommand it = BERTH_HOSTCOMMAND_NONE;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof(address);

    it.socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(it.socket, (struct sockaddr *)&address, sizeof(sa_family_t)),
                     0);
    ck_assert_int_eq(listen(it.socket, 5), 0);
    ck_assert_int_eq(getsockname(it.socket, (struct sockaddr *)&address, &length), 0);
    *ret_program = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    ck_assert_int_eq(connect(*ret_program, (struct sockaddr *)&address, length), 0);
    return it;
}

/* Is it, behind what was said? */
static bool is_closed(int program)
{
    struct pollfd fd = {.fd = program, .events = POLLIN};
    char bytes[64];
    ssize_t count = 1;

    while (count > 0 && poll(&fd, 1, 10000) == 1)
        count = recv(program, bytes, sizeof(bytes), 0);
    return count == 0;
}

TEST(without_a_process_nobody_is_kept_waiting)
{
    int program;
    struct berth_hostcommand it = offer(&program);
    struct rlimit limit = {0};
    pid_t child = fork();

    if (child == 0) {
        setrlimit(RLIMIT_NPROC, &limit);
        (void)!setuid(65534); /* which root's limit is not for */
        berth_hostcommand_serve(&it);
        _exit(it.server != 0);
    }
    ck_assert_int_eq(unit_ended(child), 0);
    ck_assert(is_closed(program));
}

TEST(without_a_descriptor_the_process_that_answers_rests)
{
    enum { MS = 500 };
    int program;
    struct berth_hostcommand it = offer(&program);
    struct rlimit limit;
    struct rusage usage;
    rlim_t soft;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    soft = limit.rlim_cur;
    limit.rlim_cur = 3;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    berth_hostcommand_serve(&it);
    limit.rlim_cur = soft;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    usleep(MS * 1000);
    ck_assert_int_eq(waitpid(it.server, NULL, WNOHANG), 0);
    kill(it.server, SIGKILL);
    ck_assert_int_eq(wait4(it.server, NULL, 0, &usage), it.server);
    ck_assert_int_lt((usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
                         (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000,
                     MS / 10);
}

TEST(without_notice_of_its_end_no_command_is_begun)
{
    static const char expected[] =
        "berth: srun: " LIMITED("Too many open files", "-n") "\n";
    struct berth_strvec words = {0};
    struct berth_order order = {0};
    struct berth_launch launch = {.order = &order};
    int program, question, ends[2], status = 0;
    struct berth_hostcommand it = offer(&program);
    struct pollfd fd = {.fd = program, .events = POLLIN};
    struct berth_message_room room = {.bytes = &status, .size = sizeof(status)};
    struct berth_err err;
    char said[sizeof(expected)] = "";

    it.launch = &launch;
    berth_strvec_push(&words, it.token);
    berth_strvec_push(&words, "");
    berth_strvec_push(&words, "/");
    berth_strvec_push(&words, "srun");
    question = berth_handover_write(&words, environ, &err);
    ck_assert_int_ge(question, 0);
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(
        berth_message_send_fds(program, BERTH_HOSTCOMMAND_RUN,
                               (const int[]){ends[1], ends[1], ends[1], question},
                               BERTH_HOSTCOMMAND_FDS),
        0);
    berth_hostcommand_serve(&it);
    ck_assert_int_eq(poll(&fd, 1, 10000), 1);
    ck_assert_int_eq(berth_message_receive(program, &room), BERTH_HOSTCOMMAND_BEGUN);
    ck_assert_int_eq(poll(&fd, 1, 10000), 1);
    ck_assert_int_eq(berth_message_receive(program, &room), BERTH_HOSTCOMMAND_ENDED);
    ck_assert_int_eq(status, W_EXITCODE(BERTH_REFUSED, 0));
    ck_assert_int_eq(read(ends[0], said, sizeof(said) - 1), sizeof(said) - 1);
    ck_assert_str_eq(said, expected);
    kill(it.server, SIGKILL);
    ck_assert_int_eq(waitpid(it.server, NULL, 0), it.server);
    berth_strvec_fini(&words);
}
