/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what slurmstepd knows about its step and SPANK has no item for, in the name of
 * its socket and in the environment of the task. */

#include "spank/stepd.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"

/* The rest of PATH, the name of a socket, after NODE_JOB.STEP; NULL: PATH is not such a
 * name. *RET_END is the end of NODE. */
static const char *skip_step(const char *path, uint32_t job, uint32_t step,
                             const char **ret_end)
{
    char marker[32];
    const char *found;

    snprintf(marker, sizeof(marker), "_%u.%u", job, step);
    found = strstr(berth_text_base(path), marker);
    if (!found)
        return NULL;
    *ret_end = found;
    found += strlen(marker);
    return *found && *found != '.' ? NULL : found;
}

int berth_stepd_position(const char *path, uint32_t job, uint32_t step)
{
    const char *node_end;
    const char *number = skip_step(path, job, step, &node_end);
    char *end;
    long position;

    if (!number || !*number)
        return -1;
    position = strtol(++number, &end, 10);
    if (end == number || *end || position < 0 || position > BERTH_GROUP_MAX)
        return -1;
    return (int)position;
}

/* Is FD a socket with a name for JOB and STEP? Then *ADDRESS is its name. */
static bool is_named(int fd, uint32_t job, uint32_t step, struct sockaddr_un *address)
{
    socklen_t length = sizeof(*address) - 1;
    const char *end;

    memset(address, 0, sizeof(*address));
    return getsockname(fd, (struct sockaddr *)address, &length) == 0 &&
           address->sun_family == AF_UNIX &&
           skip_step(address->sun_path, job, step, &end);
}

static bool find_socket(uint32_t job, uint32_t step, struct sockaddr_un *address)
{
    DIR *directory = opendir("/proc/self/fd");
    struct dirent *entry;
    bool found = false;

    while (directory && !found && (entry = readdir(directory)))
        if (entry->d_name[0] != '.')
            found = is_named(atoi(entry->d_name), job, step, address);
    if (directory)
        closedir(directory);
    return found;
}

int berth_stepd_place(uint32_t job, uint32_t step, struct berth_stepd_place *ret)
{
    struct sockaddr_un address;
    const char *base, *end;

    if (!find_socket(job, step, &address))
        return -1;
    base = berth_text_base(address.sun_path);
    skip_step(base, job, step, &end);
    if (base == address.sun_path || base == end)
        return -1;
    snprintf(ret->directory, sizeof(ret->directory), "%.*s",
             (int)(base - 1 - address.sun_path), address.sun_path);
    snprintf(ret->node, sizeof(ret->node), "%.*s", (int)(end - base), base);
    return 0;
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
    struct sockaddr_un address;
    uint32_t job = 0;
    uint32_t step = 0;

    if (spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
        return where;
    if (find_socket(job, step, &address))
        where.position = berth_stepd_position(address.sun_path, job, step);
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
