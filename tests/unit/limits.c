/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a task, which are not the runtime's. */

#include "step/limits.h"

#include <sys/resource.h>

#include "unit.h"

static rlim_t soft(int resource)
{
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(resource, &limit), 0);
    return limit.rlim_cur;
}

static rlim_t lower(int resource, rlim_t to)
{
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(resource, &limit), 0);
    limit.rlim_cur = to;
    ck_assert_int_eq(setrlimit(resource, &limit), 0);
    return limit.rlim_max;
}

START_TEST(soft_limits_are_raised_and_come_back)
{
    BERTH_BUF struct berth_buf were = {0};
    rlim_t stack = soft(RLIMIT_STACK);
    rlim_t size = lower(RLIMIT_FSIZE, 1000000);
    rlim_t threads = lower(RLIMIT_NPROC, 77);

    berth_limits_raise(&were);
    ck_assert_uint_eq(soft(RLIMIT_FSIZE), size);
    ck_assert_uint_eq(soft(RLIMIT_NPROC), threads);
    ck_assert_uint_eq(soft(RLIMIT_STACK), stack);
    berth_limits_restore(were.text);
    ck_assert_uint_eq(soft(RLIMIT_FSIZE), 1000000);
    ck_assert_uint_eq(soft(RLIMIT_NPROC), 77);
    berth_limits_raise(NULL);
    ck_assert_uint_eq(soft(RLIMIT_NPROC), threads);
}
END_TEST

START_TEST(limits_that_are_as_high_as_can_be_stay)
{
    BERTH_BUF struct berth_buf were = {0};

    berth_limits_raise(NULL);
    berth_limits_raise(&were);
    ck_assert_ptr_null(were.text);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("limits");

    tcase_add_test(tests, soft_limits_are_raised_and_come_back);
    tcase_add_test(tests, limits_that_are_as_high_as_can_be_stay);
    return unit_run("limits", tests);
}
