/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what slurmstepd knows about its step and SPANK has no item for, in the name of
 * its socket and in the environment of the task. */

#include "spank/stepd.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

/* The position of the component in REST, which follows JOB.STEP in the name; -1: it is
 * not there. */
static int read_position(const char *rest)
{
    const char *number;
    char *end;
    long position;

    if (*rest != '.')
        return -1;
    number = rest + strlen(".");
    position = strtol(number, &end, 10);
    if (end == number || *end != '\0')
        return -1;
    if (position < 0 || position > BERTH_GROUP_MAX)
        return -1;
    return (int)position;
}

bool berth_stepd_read(const char *path, uint32_t job, uint32_t step,
                      struct berth_stepd_place *ret)
{
    const char *name = berth_text_base(path);
    const char *found, *rest;
    char job_step[32];
    int directory_length, node_length;

    /* DIRECTORY/NODE_JOB.STEP, and .POSITION in a step with several components */
    snprintf(job_step, sizeof(job_step), "_%u.%u", job, step);
    found = strstr(name, job_step);
    if (!found || found == name || name == path)
        return false;
    rest = found + strlen(job_step);
    if (*rest != '\0' && *rest != '.')
        return false;

    ret->position = read_position(rest);
    directory_length = (int)(name - path - 1);
    node_length = (int)(found - name);
    snprintf(ret->directory, sizeof(ret->directory), "%.*s", directory_length, path);
    snprintf(ret->node, sizeof(ret->node), "%.*s", node_length, name);
    return true;
}

/* Is FD a socket with a name for JOB and STEP? */
static bool is_named(int fd, uint32_t job, uint32_t step, struct berth_stepd_place *ret)
{
    struct sockaddr_un address = {0};
    socklen_t length = sizeof(address) - 1;

    return getsockname(fd, (struct sockaddr *)&address, &length) == 0 &&
           address.sun_family == AF_UNIX &&
           berth_stepd_read(address.sun_path, job, step, ret);
}

bool berth_stepd_place(uint32_t job, uint32_t step, struct berth_stepd_place *ret)
{
    BERTH_CLOSEDIR DIR *directory = opendir("/proc/self/fd");
    const struct dirent *entry;

    if (!directory)
        return false;
    for (entry = readdir(directory); entry; entry = readdir(directory))
        if (entry->d_name[0] != '.' && is_named(atoi(entry->d_name), job, step, ret))
            return true;
    return false;
}

/* Is JOB the value of the variable with the name FORMAT for GROUP? */
static bool is_job(spank_t sp, const char *format, int group, uint32_t job)
{
    char name[64];
    char value[32];

    snprintf(name, sizeof(name), format, group);
    return spank_getenv(sp, name, value, sizeof(value)) == ESPANK_SUCCESS &&
           strtoul(value, NULL, 10) == job;
}

static int find_group(spank_t sp, uint32_t job)
{
    for (int group = 0; group <= BERTH_GROUP_MAX; group++)
        if (is_job(sp, "SLURM_JOB_ID_HET_GROUP_%d", group, job) ||
            is_job(sp, "SLURM_JOB_ID_PACK_GROUP_%d", group, job))
            return group;
    return -1;
}

struct berth_where berth_stepd_where(spank_t sp)
{
    struct berth_where where = {.group = -1, .position = -1};
    struct berth_stepd_place place;
    uint32_t job = 0;
    uint32_t step = 0;

    if (spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
        return where;
    if (berth_stepd_place(job, step, &place))
        where.position = place.position;
    if (where.position < 0)
        where.group = find_group(sp, job);
    return where;
}

/* Descriptors: those that slurmstepd has before it starts tasks, three pipes, and how
 * many a table may have after it has grown once. */
enum { BEFORE = 32, TASK = 6, ONCE = 128 };

void berth_stepd_reserve(unsigned int tasks)
{
    unsigned int descriptors = BEFORE + TASK * tasks;

    if (descriptors > ONCE)
        close(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, descriptors));
}
