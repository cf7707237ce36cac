/* SPDX-License-Identifier: Apache-2.0 */
/* Raises and restores the limits of a task that must not limit the runtime. */

#include "container/limits.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static const int resources[] = {RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE,
                                RLIMIT_NPROC};

void berth_limits_raise(void)
{
    for (size_t i = 0; i < sizeof(resources) / sizeof(*resources); i++) {
        struct rlimit limit;

        if (getrlimit(resources[i], &limit) < 0 || limit.rlim_cur == limit.rlim_max)
            continue;
        limit.rlim_cur = limit.rlim_max;
        setrlimit(resources[i], &limit);
    }
}

void berth_limits_restore(const char *were)
{
    unsigned long long soft;
    int resource, length;

    for (; sscanf(were, "%d=%llu,%n", &resource, &soft, &length) == 2; were += length) {
        struct rlimit limit;

        if (getrlimit(resource, &limit) < 0)
            continue;
        limit.rlim_cur = limit.rlim_max;
        if (soft < limit.rlim_max)
            limit.rlim_cur = soft;
        setrlimit(resource, &limit);
    }
}

void berth_limits_list(struct berth_buf *ret)
{
    for (int resource = 0; resource < (int)RLIMIT_NLIMITS; resource++) {
        struct rlimit limit;

        if (getrlimit(resource, &limit) == 0)
            berth_buf_addf(ret, "%d=%llu,", resource,
                           (unsigned long long)limit.rlim_cur);
    }
}

void berth_limits_set_cpus(const cpu_set_t *cpus)
{
    cpu_set_t all;

    memset(&all, 0xff, sizeof(all));
    if (sched_setaffinity(0, sizeof(*cpus), cpus) < 0)
        sched_setaffinity(0, sizeof(all), &all);
}
