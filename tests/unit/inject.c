/* SPDX-License-Identifier: Apache-2.0 */
/* A start of berth-mpi where the copies of the user cannot be locked. */

#include "run/inject.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/deadline.h"
#include "step/stageroot.h"
#include "unit.h"

static int number, calls;

/* Instead of the C library's. */
int flock(int fd, int operation)
{
    (void)fd, (void)operation;
    calls++;
    errno = number;
    return -1;
}

/* A file system without locks is not waited for; another lock is. */
TEST_TIMES(a_lock_that_cannot_be_had_is_not_waited_for, 2)
{
    static const int numbers[] = {ENOLCK, EWOULDBLOCK};
    enum { SECONDS = 1 };
    static char image[] = "/a.sif", mode[] = "host", name[] = "true";
    char *command[] = {name, NULL}, *environment[] = {NULL};
    struct berth_request request = {.image = image, .mpi = mode};
    struct berth_order order = BERTH_ORDER_EMPTY;
    struct berth_launch launch = {.order = &order,
                                  .request = &request,
                                  .command = command,
                                  .environment = environment};
    struct berth_deadline deadline;
    struct berth_inject inject = {
        .launch = &launch, .deadline = &deadline, .environment = "", .task_stderr = -1};
    struct berth_injected injected;
    char path[BERTH_STAGE_USER_SIZE];
    bool is_made;
    struct berth_err err;

    berth_stage_user(path);
    is_made = mkdir(path, 0700) == 0;
    number = numbers[_i];
    berth_deadline_begin(&deadline, SECONDS);
    ck_assert_int_eq(berth_inject(&inject, &injected, &err), -1);
    if (is_made)
        rmdir(path);
    ck_assert_int_gt(calls, 0);
    if (number == ENOLCK)
        ck_assert_int_gt(berth_deadline_left(&deadline), 0);
    else
        ck_assert_int_gt(calls, 5);
}
