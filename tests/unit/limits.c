/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a task, which are not the runtime's. */

#include "container/limits.h"

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

TEST(soft_limits_of_a_runtime_are_raised)
{
    rlim_t stack = soft(RLIMIT_STACK);
    rlim_t size = lower(RLIMIT_FSIZE, 1000000);
    rlim_t threads = lower(RLIMIT_NPROC, 77);

    berth_limits_raise();
    ck_assert_uint_eq(soft(RLIMIT_FSIZE), size);
    ck_assert_uint_eq(soft(RLIMIT_NPROC), threads);
    ck_assert_uint_eq(soft(RLIMIT_STACK), stack);
}

TEST(a_list_of_all_is_restored_up_to_the_hard_limits)
{
    BERTH_BUF struct berth_buf list = {0};
    rlim_t files = soft(RLIMIT_NOFILE);
    rlim_t core = lower(RLIMIT_CORE, 0);

    lower(RLIMIT_STACK, 5 << 20);
    berth_limits_list(&list);
    lower(RLIMIT_STACK, 6 << 20);
    lower(RLIMIT_NOFILE, files - 1);
    lower(RLIMIT_CORE, core);
    berth_limits_restore(list.text);
    ck_assert_uint_eq(soft(RLIMIT_STACK), 5 << 20);
    ck_assert_uint_eq(soft(RLIMIT_NOFILE), files);
    ck_assert_uint_eq(soft(RLIMIT_CORE), 0);
    berth_limits_restore("4=18446744073709551615,99=1,");
    ck_assert_uint_eq(soft(RLIMIT_CORE), core);
}

TEST(cpus_that_are_not_there_are_all)
{
    cpu_set_t own, one, other, now;

    CPU_ZERO(&one);
    CPU_ZERO(&other);
    CPU_SET(CPU_SETSIZE - 1, &other);
    ck_assert_int_eq(sched_getaffinity(0, sizeof(own), &own), 0);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &own))
            CPU_SET(cpu, &one);
    berth_limits_set_cpus(&one);
    ck_assert_int_eq(sched_getaffinity(0, sizeof(now), &now), 0);
    ck_assert(CPU_EQUAL(&now, &one));
    berth_limits_set_cpus(&other);
    ck_assert_int_eq(sched_getaffinity(0, sizeof(now), &now), 0);
    CPU_AND(&one, &now, &own);
    ck_assert(CPU_EQUAL(&one, &own));
    berth_limits_set_cpus(&own);
}
