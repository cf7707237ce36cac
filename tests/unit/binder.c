/* SPDX-License-Identifier: Apache-2.0 */
/* A start of berth-mpi where the copies of the user cannot be locked, and steps that
 * start none because each task has its own container. */

#include "run/binder.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "container/stageroot.h"
#include "ipc/channel.h"
#include "unit.h"

static int number, calls, pauses;

/* Instead of the C library's. */
int flock(int fd, int operation)
{
    (void)fd, (void)operation;
    calls++;
    errno = number;
    return -1;
}

/* Whatever pauses does so for a second, in no time. */
int nanosleep(const struct timespec *pause, struct timespec *rest)
{
    (void)pause, (void)rest;
    pauses++;
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);

    now->tv_sec += pauses;
    return result;
}

/* A file system without locks is not waited for; another lock is. */
TEST_TIMES(a_lock_that_cannot_be_had_is_not_waited_for, 2)
{
    static const int numbers[] = {ENOLCK, EWOULDBLOCK};
    enum { SECONDS = 60 };
    static char image[] = "/a.sif", mode[] = "host", name[] = "true";
    char *command[] = {name, NULL}, *environment[] = {NULL};
    struct berth_request request = {.image = image, .mpi = mode};
    struct berth_order order = BERTH_ORDER_EMPTY;
    struct berth_launch launch = {.order = &order,
                                  .request = &request,
                                  .command = command,
                                  .environment = environment};
    struct berth_deadline deadline;
    struct berth_binder binder = {.launch = &launch,
                                  .deadline = &deadline,
                                  .environment = environment,
                                  .task_stderr = -1};
    struct berth_binding binding;
    struct berth_binder_witness witness;
    char path[BERTH_STAGE_USER_SIZE];
    bool is_made;
    struct berth_err err;

    berth_stage_user(path);
    is_made = mkdir(path, 0700) == 0;
    number = numbers[_i];
    berth_deadline_begin(&deadline, SECONDS);
    ck_assert_int_eq(berth_binder_run(&binder, &binding, &witness, &err), -1);
    if (is_made)
        rmdir(path);
    ck_assert_int_gt(calls, 0);
    if (number == ENOLCK)
        ck_assert_int_gt(berth_deadline_left(&deadline), 0);
    else
        ck_assert_int_gt(calls, 5);
}

#define APART "it is setuid, so nothing can be mounted in its containers"

static const struct {
    const char *mode, *libs, *nodes; /* NULL: one node */
    const char *said;                /* a note, or the start of an error */
} apart[] = {
    {"auto", NULL, NULL, "the image's own MPI runs (hybrid): it is setuid"},
    {"auto", NULL, "1", "the image's own MPI runs (hybrid): it is setuid"},
    {"auto", NULL, "2", APART "; all nodes need the same MPI: "},
    {"host", NULL, NULL, APART "; choose --mpi-bind=hybrid"},
    {"hybrid", NULL, "2", NULL},
    {"off", "auto", "2", NULL},
    {"hybrid", "ucx", NULL, APART "; leave --container-libs out"},
    {"hybrid", "auto", NULL,
     "the image's own MPI runs, on its own network libraries: it is setuid"},
    {"hybrid", "auto", "2", APART "; all nodes need the same network libraries: "},
};

/* A watcher that reads nothing before the end knows that the supervisor was killed. */
static const struct {
    bool failed;
    char byte;
} ends[] = {{false, BERTH_CHANNEL_SUCCEEDED}, {true, BERTH_CHANNEL_FAILED}};

TEST_ROWS(a_watcher_reads_whether_a_task_has_failed, ends)
{
    struct berth_binder_witness watcher = {.pid = 1};
    char bytes[2] = "";
    int sockets[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
    watcher.end = sockets[0];
    berth_binder_end(&watcher, ends[_i].failed);
    ck_assert_int_eq(read(sockets[1], bytes, sizeof(bytes)), 1);
    ck_assert_int_eq(bytes[0], ends[_i].byte);
    ck_assert_int_eq(read(sockets[1], bytes, sizeof(bytes)), 0);
    close(sockets[1]);
}

TEST_ROWS(with_a_container_for_each_task_the_host_s_mpi_cannot_run, apart)
{
    static char image[] = "/a.sif";
    struct berth_request request = {
        .image = image, .mpi = (char *)apart[_i].mode, .libs = (char *)apart[_i].libs};
    struct berth_order order = BERTH_ORDER_EMPTY;
    BERTH_FREE char *nodes = NULL;
    char *environment[2] = {NULL, NULL};
    const struct berth_launch launch = {
        .order = &order, .request = &request, .environment = environment};
    BERTH_BINDING struct berth_binding binding = {0};
    struct berth_err err = {0};
    int result;

    if (apart[_i].nodes)
        ck_assert_int_gt(asprintf(&nodes, "SLURM_STEP_NUM_NODES=%s", apart[_i].nodes),
                         0);
    environment[0] = nodes;
    order.container.tasks = 1;
    result = berth_binder_separate(&launch, 0, "it is setuid", &binding, &err);
    ck_assert_int_eq(result, *err.text ? -1 : 0);
    if (result == 0)
        ck_assert_pstr_eq(binding.note, apart[_i].said);
    else
        ck_assert_int_eq(strncmp(err.text, apart[_i].said, strlen(apart[_i].said)), 0);
}
