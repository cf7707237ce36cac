/* SPDX-License-Identifier: Apache-2.0 */
/* What slurmstepd knows about itself and SPANK does not say. */

#include "spank/stepd.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/text.h"

int berth_stepd_position(const char *path, uint32_t job, uint32_t step)
{
    char marker[32];
    const char *name = berth_text_base(path);
    const char *number;
    char *end;
    long position;

    snprintf(marker, sizeof(marker), "_%u.%u.", job, step);
    number = strstr(name, marker);
    if (!number)
        return -1;
    number += strlen(marker);
    position = strtol(number, &end, 10);
    if (end == number || *end || position < 0 || position > BERTH_GROUP_MAX)
        return -1;
    return (int)position;
}

/* The position that the name of socket FD holds; -1 if it is none of ours. */
static int position_of(int fd, uint32_t job, uint32_t step)
{
    struct sockaddr_un address = {0};
    socklen_t length = sizeof(address) - 1;

    if (getsockname(fd, (struct sockaddr *)&address, &length) < 0 ||
        address.sun_family != AF_UNIX)
        return -1;
    return berth_stepd_position(address.sun_path, job, step);
}

static int find_position(uint32_t job, uint32_t step)
{
    DIR *directory = opendir("/proc/self/fd");
    struct dirent *entry;
    int position = -1;

    while (directory && position < 0 && (entry = readdir(directory)))
        if (entry->d_name[0] != '.')
            position = position_of(atoi(entry->d_name), job, step);
    if (directory)
        closedir(directory);
    return position;
}

/* Is the variable FORMAT % GROUP the id JOB? */
static int names_job(spank_t sp, const char *format, int group, uint32_t job)
{
    char name[64];
    char value[32];

    snprintf(name, sizeof(name), format, group);
    if (spank_getenv(sp, name, value, sizeof(value)) != ESPANK_SUCCESS)
        return 0;
    return strtoul(value, NULL, 10) == job;
}

static int find_group(spank_t sp, uint32_t job)
{
    for (int group = 0; group <= BERTH_GROUP_MAX; group++)
        if (names_job(sp, "SLURM_JOB_ID_HET_GROUP_%d", group, job) ||
            names_job(sp, "SLURM_JOB_ID_PACK_GROUP_%d", group, job))
            return group;
    return -1;
}

struct berth_where berth_stepd_where(spank_t sp)
{
    struct berth_where where = {.group = -1, .position = -1};
    uint32_t job = 0;
    uint32_t step = 0;

    if (spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
        return where;
    where.position = find_position(job, step);
    if (where.position < 0)
        where.group = find_group(sp, job);
    return where;
}
