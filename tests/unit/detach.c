/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of a process and of a program that it executes, and detached processes.
 */

#include "base/detach.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "unit.h"

enum { FIRST = 20, BELOW = FIRST - 1, HIGH = 200 };

static void open_three(void)
{
    ck_assert_int_eq(dup2(STDIN_FILENO, BELOW), BELOW);
    ck_assert_int_eq(dup2(STDIN_FILENO, FIRST), FIRST);
    ck_assert_int_eq(dup2(STDIN_FILENO, HIGH), HIGH);
}

TEST(marked_descriptors_close_on_exec)
{
    open_three();
    berth_cloexec_from(FIRST);
    ck_assert_int_eq(fcntl(BELOW, F_GETFD), 0);
    ck_assert_int_eq(fcntl(FIRST, F_GETFD), FD_CLOEXEC);
    ck_assert_int_eq(fcntl(HIGH, F_GETFD), FD_CLOEXEC);
}

TEST(descriptors_are_closed)
{
    open_three();
    berth_close_from(FIRST);
    ck_assert_int_eq(fcntl(BELOW, F_GETFD), 0);
    ck_assert_int_eq(fcntl(FIRST, F_GETFD), -1);
    ck_assert_int_eq(fcntl(HIGH, F_GETFD), -1);
}

static void forget(void *data)
{
    (void)data; /* and return */
}

/* The new process must end behind its body, or what follows would run twice. */
TEST(a_detached_process_ends_behind_its_body)
{
    struct berth_err err;
    char byte;
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(berth_detach_run(forget, NULL, NULL, &err), 0);
    ck_assert_int_eq(write(ends[1], "!", 1), 1);
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    ck_assert_int_eq(read(ends[0], &byte, 1), 0);
}

/* Else the process would keep the task's output, or slurmstepd's. */
TEST(without_dev_null_nothing_is_detached)
{
    const struct rlimit none = {3, 3};
    pid_t child = fork();

    if (child == 0) {
        setrlimit(RLIMIT_NOFILE, &none);
        _exit(berth_detach(NULL, 0, NULL) < 0 ? 7 : 0);
    }
    ck_assert_int_eq(unit_ended(child), 7);
}
