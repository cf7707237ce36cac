/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the programs of berth, and prints their release. */

#include "container/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/filelimit.h"
#include "base/installed.h"
#include "base/text.h"

extern char **environ;

#define LIBRARIES "LD_LIBRARY_PATH"

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

    if (geteuid() == 0)
        return true;
    if (fstat(fd, &st) < 0 || st.st_uid != 0)
        return true;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return access(path, W_OK) == 0;
}

/* Copy FILE, which PATH is, into memory that nobody can change. Returns the descriptor,
 * or -1 with a sentence in ERR. */
static int copy_sealed(int file, const char *path, const char *name,
                       struct berth_err *err)
{
    BERTH_FILELIMIT struct berth_filelimit limit = berth_filelimit_ignore();
    int fd = berth_fd_sealed(file, name);

    if (fd >= 0)
        return fd;
    if (errno == EACCES)
        return berth_err_set(err,
                             "'%s': an image could overwrite it, and this host runs no "
                             "copy from memory; have an administrator install berth, "
                             "or set vm.memfd_noexec to 1",
                             path);
    return berth_err_spent(err, errno);
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
    fd = copy_sealed(file, path, BERTH_PROGRAM_INIT_NAME, err);
    if (fd < 0)
        return -1;
    if (fcntl(fd, F_SETFD, 0) < 0)
        return berth_err_spent(err, errno);
    return fd;
}

/* Does this process execute such a copy? */
static bool is_copy(int file)
{
    int seals = fcntl(file, F_GET_SEALS);

    return seals >= 0 && (seals & F_SEAL_WRITE);
}

/* Where the loader finds the libraries that a tree in a home brings along: the RPATH of
 * Makefile.am, whose $ORIGIN means nothing in a copy. The caller frees it. */
static char *library_path(const char *program)
{
    const int length = (int)(berth_text_base(program) - program);
    char *path;

    if (asprintf(&path, "%.*s:%.*s../libexec/berth", length, program, length, program) <
        0)
        return NULL;
    return path;
}

/* For the copy of PROGRAM: put that before the user's LD_LIBRARY_PATH. Returns 0, or -1
 * with errno. */
static int add_libraries(const char *program)
{
    const char *of_user = getenv(LIBRARIES);
    BERTH_FREE char *ours = library_path(program);
    BERTH_FREE char *all = NULL;

    if (!ours)
        return -1;
    if (!of_user)
        return setenv(LIBRARIES, ours, 1);
    if (asprintf(&all, "%s:%s", ours, of_user) < 0)
        return -1;
    return setenv(LIBRARIES, all, 1);
}

/* In the copy of PROGRAM: take it away again. Returns 0, or -1 with errno. */
static int remove_libraries(const char *program)
{
    const char *all = getenv(LIBRARIES);
    BERTH_FREE char *ours = library_path(program);
    BERTH_FREE char *of_user = NULL;

    if (!ours)
        return -1;
    if (!all || !berth_text_starts(all, ours))
        return 0;
    if (strcmp(all, ours) == 0)
        return unsetenv(LIBRARIES);
    of_user = strdup(all + strlen(ours) + 1);
    if (!of_user)
        return -1;
    return setenv(LIBRARIES, of_user, 1);
}

int berth_program_protect(char *const *argv, struct berth_err *err)
{
    enum { NAME_MAX_MEMORY = 249 }; /* memfd_create(2) */
    const char *path = berth_installed_self();
    BERTH_CLOSE int program = open("/proc/self/exe", O_PATH | O_CLOEXEC);
    BERTH_CLOSE int file = -1;
    BERTH_CLOSE int copy = -1;

    if (!path || program < 0)
        return berth_program_missing("/proc/self/exe", err);
    if (!can_be_written(program))
        return 0; /* maybe it cannot be read, either */
    file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return berth_program_missing(path, err);
    if (is_copy(file)) {
        prctl(PR_SET_NAME, berth_text_base(path)); /* else that of the descriptor */
        return remove_libraries(path) < 0 ? berth_err_oom(err) : 0;
    }
    if (strlen(path) > NAME_MAX_MEMORY)
        return berth_err_set(err,
                             "'%s': an image could overwrite it, and its path is too "
                             "long for a copy in memory; install berth at a path of at "
                             "most %d bytes",
                             path, NAME_MAX_MEMORY);
    copy = copy_sealed(file, path, path, err);
    if (copy < 0)
        return -1;
    if (add_libraries(path) < 0)
        return berth_err_oom(err);
    fexecve(copy, argv, environ);
    return berth_program_missing(path, err);
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
    if (strcmp(inside, "all") == 0)
        return berth_installed(BERTH_LIBEXECDIR "/inside-all");
    return berth_installed(BERTH_LIBEXECDIR "/inside-srun");
}
