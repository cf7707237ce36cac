/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the programs of berth, and prints their release. */

#include "container/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/installed.h"
#include "base/text.h"

int berth_program_missing(const char *path, struct berth_err *err)
{
    return berth_err_set(
        err, "'%s': %s; berth is incomplete on this host, tell its administrators",
        path, strerror(errno));
}

/* Could a program that runs as this user write to FD, a file open to read? Its owner
 * can permit it, and root needs no permission. Directories above it are of no use to
 * such a program: it gets the file by descriptor, and a file has no "..". */
static bool can_be_written(int fd)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return geteuid() == 0 || fstat(fd, &st) < 0 || st.st_uid != 0 ||
           access(path, W_OK) == 0;
}

int berth_program_open(struct berth_err *err)
{
    return berth_program_open_at(
        berth_installed(BERTH_LIBEXECDIR "/" BERTH_PROGRAM_INIT_NAME), err);
}

int berth_program_open_at(const char *path, struct berth_err *err)
{
    BERTH_CLOSE int file = open(path, O_RDONLY | O_CLOEXEC);
    int fd;

    if (file < 0)
        return berth_program_missing(path, err);
    if (!can_be_written(file)) {
        fd = dup(file);
        return fd < 0 ? berth_err_spent(err, errno) : fd;
    }
    fd = berth_fd_sealed(file, BERTH_PROGRAM_INIT_NAME);
    if (fd < 0 && errno == EACCES)
        return berth_err_set(err,
                             "'%s': an image could overwrite it, and this host runs no "
                             "copy from memory; have an administrator install berth, "
                             "or set vm.memfd_noexec to 1",
                             path);
    if (fd < 0 || fcntl(fd, F_SETFD, 0) < 0)
        return berth_err_spent(err, errno);
    return fd;
}

bool berth_program_is_init(const char *name)
{
    static const char memory[] = "memfd:";

    if (berth_text_starts(name, memory))
        name += strlen(memory);
    /* a program that was replaced while it runs is "NAME (deleted)", and memory is */
    return berth_text_starts(name, BERTH_PROGRAM_INIT_NAME);
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
