/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the programs of berth on the host and in a container. */

#include "step/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM    BERTH_LIBEXECDIR "/berth-init"
#define OPEN_FILES "/proc/self/fd/"

int berth_program_missing(const char *path, struct berth_err *err)
{
    return berth_err_set(
        err, "'%s': %s; berth is incomplete on this host, tell its administrators",
        path, strerror(errno));
}

int berth_program_open(struct berth_err *err)
{
    int fd = open(PROGRAM, O_RDONLY);

    return fd < 0 ? berth_program_missing(PROGRAM, err) : fd;
}

bool berth_program_prints_version(const char *name, int argc, char *const *argv)
{
    if (argc != 2 || strcmp(argv[1], "--version") != 0)
        return false;
    printf("%s %s\n", name, BERTH_VERSION);
    return true;
}

void berth_program_name(int fd, char name[BERTH_PROGRAM_NAME])
{
    snprintf(name, BERTH_PROGRAM_NAME, OPEN_FILES "%d", fd);
}

const char *berth_program_commands(const char *inside)
{
    return strcmp(inside, "all") == 0 ? BERTH_LIBEXECDIR "/inside-all"
                                      : BERTH_LIBEXECDIR "/inside-srun";
}

int berth_program_descriptor(const char *name)
{
    size_t length = strlen(OPEN_FILES);

    return strncmp(name, OPEN_FILES, length) == 0 ? atoi(name + length) : -1;
}
