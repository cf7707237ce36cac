/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the programs of berth, and prints their release. */

#include "container/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/installed.h"

int berth_program_missing(const char *path, struct berth_err *err)
{
    return berth_err_set(
        err, "'%s': %s; berth is incomplete on this host, tell its administrators",
        path, strerror(errno));
}

int berth_program_open(struct berth_err *err)
{
    const char *path = berth_installed(BERTH_LIBEXECDIR "/berth-init");
    int fd = open(path, O_RDONLY);

    return fd < 0 ? berth_program_missing(path, err) : fd;
}

bool berth_program_prints_version(const char *name, int argc, char *const *argv)
{
    if (argc != 2 || strcmp(argv[1], "--version") != 0)
        return false;
    printf("%s %s\n", name, BERTH_VERSION);
    return true;
}

const char *berth_program_commands(const char *inside)
{
    return berth_installed(strcmp(inside, "all") == 0 ? BERTH_LIBEXECDIR "/inside-all"
                                                      : BERTH_LIBEXECDIR
                               "/inside-srun");
}
