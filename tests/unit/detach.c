/* SPDX-License-Identifier: Apache-2.0 */
/* What is open in a process of ours, and in a program that it executes. */

#include "base/detach.h"

#include <fcntl.h>
#include <unistd.h>

#include "unit.h"

enum { FIRST = 20, BELOW = FIRST - 1, HIGH = 200 };

static void open_three(void)
{
    ck_assert_int_eq(dup2(STDIN_FILENO, BELOW), BELOW);
    ck_assert_int_eq(dup2(STDIN_FILENO, FIRST), FIRST);
    ck_assert_int_eq(dup2(STDIN_FILENO, HIGH), HIGH);
}

START_TEST(what_is_hidden_closes_on_exec)
{
    open_three();
    berth_hide_from(FIRST);
    ck_assert_int_eq(fcntl(BELOW, F_GETFD), 0);
    ck_assert_int_eq(fcntl(FIRST, F_GETFD), FD_CLOEXEC);
    ck_assert_int_eq(fcntl(HIGH, F_GETFD), FD_CLOEXEC);
}
END_TEST

START_TEST(what_is_closed_is_closed)
{
    open_three();
    berth_close_from(FIRST);
    ck_assert_int_eq(fcntl(BELOW, F_GETFD), 0);
    ck_assert_int_eq(fcntl(FIRST, F_GETFD), -1);
    ck_assert_int_eq(fcntl(HIGH, F_GETFD), -1);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("detach");

    tcase_add_test(tcase, what_is_hidden_closes_on_exec);
    tcase_add_test(tcase, what_is_closed_is_closed);
    return unit_run("detach", tcase);
}
