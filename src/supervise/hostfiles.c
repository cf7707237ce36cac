/* SPDX-License-Identifier: Apache-2.0 */
/* Lets a program in a container open files, and gives their contents to a command of
 * the host. */

#include "supervise/hostfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "job/hostcommand.h"
#include "job/message.h"
#include "plan/outsidefiles.h"

/* Returns the kind of the next message. Ends this process if the program has ended or
 * sends nothing. */
static int receive(int socket, int *ret_fd)
{
    enum { PATIENCE_MS = 60000 }; /* a file system may be slow */

    for (;;) {
        struct pollfd fd = {.fd = socket, .events = POLLIN};
        int count = poll(&fd, 1, PATIENCE_MS);
        int kind = count > 0 ? berth_job_receive(socket, ret_fd) : count;

        if (kind > 0)
            return kind;
        if (kind == 0 || (errno != EAGAIN && errno != EINTR))
            _exit(EXIT_FAILURE);
    }
}

/* The program got signal NUMBER before its command runs: end as the command would. */
static void obey(int socket, int number)
{
    if (number == SIGSTOP || number == SIGCONT || number == SIGWINCH)
        return;
    send(socket, &number, sizeof(number), MSG_NOSIGNAL);
    _exit(EXIT_FAILURE);
}

/* Let the program open PATH. Returns a descriptor, or -1 with errno. */
static int open_there(int socket, const char *path, int flags)
{
    struct berth_hostcommand_file file = {.flags = flags};
    size_t length = strlen(path) + 1;
    int kind = 0, fd = -1;

    if (length > sizeof(file.path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(file.path, path, length);
    send(socket, &file, offsetof(struct berth_hostcommand_file, path) + length,
         MSG_NOSIGNAL);
    while ((kind = receive(socket, &fd)) < ' ')
        obey(socket, kind);
    if (kind == BERTH_HOSTCOMMAND_FILE)
        return fd;
    errno = receive(socket, &fd);
    return -1;
}

/* Is the file open at FD the same as PATH on the host? */
static bool is_same(int fd, const char *path)
{
    struct stat here, there;

    return fstat(fd, &there) == 0 && stat(path, &here) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* Copy FROM, which may be a pipe, to TO. Returns 0, or -1 with errno; EFBIG: FROM is
 * too large. */
static int copy(int socket, int from, int to)
{
    enum { MOST = 16 << 20 };
    struct pollfd fds[] = {{.fd = from, .events = POLLIN},
                           {.fd = socket, .events = POLLIN}};
    static char part[1 << 16];
    size_t total = 0;
    ssize_t count = 1;
    int fd;

    while (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))) {
        if (poll(fds, 2, -1) > 0 && fds[1].revents)
            obey(socket, receive(socket, &fd));
        count = fds[0].revents ? read(from, part, sizeof(part)) : 1;
        if (count <= 0 || !fds[0].revents)
            continue;
        if ((total += (size_t)count) > MOST) {
            errno = EFBIG;
            return -1;
        }
        if (berth_fd_write(to, part, (size_t)count) < 0)
            return -1;
    }
    return (int)count;
}

/* Copy FROM into memory, and replace PATH, the last part of *WORD, by the path of the
 * memory. The command inherits the memory. Returns 0, or -1 with errno. */
static int replace(int socket, int from, const char *path, char **word)
{
    int memory = memfd_create("berth", 0);
    char *text = NULL;

    if (memory < 0 || copy(socket, from, memory) < 0 ||
        asprintf(&text, "%.*s/proc/self/fd/%d", (int)(path - *word), *word, memory) < 0)
        return -1;
    free(*word);
    *word = text;
    return 0;
}

static int refuse(const char *option, const char *path, struct berth_err *err)
{
    if (errno == EFBIG)
        return berth_err_set(err,
                             "%s: '%s' is in the container alone and has more than 16 "
                             "MiB; use a directory that the host has, too",
                             option, path);
    return berth_err_set(err, "%s: '%s': %s; name a file that this container has",
                         option, path, strerror(errno));
}

/* Replace PATH in *WORD unless the host has the same file. A pipe that both have is not
 * opened: its writer would lose a reader. */
static int carry(int socket, const char *option, const char *path, char **word,
                 struct berth_err *err)
{
    BERTH_CLOSE int fd = open_there(socket, path, O_PATH);
    BERTH_CLOSE int from = -1;

    if (fd >= 0 && is_same(fd, path))
        return 0;
    if (fd >= 0)
        from = open_there(socket, path, O_RDONLY);
    return from >= 0 && replace(socket, from, path, word) == 0
               ? 0
               : refuse(option, path, err);
}

static bool is_directory(const char *path)
{
    struct stat here;

    return stat(path, &here) == 0 && S_ISDIR(here.st_mode);
}

/* Cut PATH to its directory, which may be `.`. Returns false if PATH has none. */
static bool cut(char *path)
{
    size_t end = strlen(path);

    if (strcmp(path, ".") == 0 || strcmp(path, "/") == 0)
        return false;
    while (end && path[end - 1] == '/')
        end--;
    while (end && path[end - 1] != '/')
        end--;
    path[end] = '\0';
    if (!end)
        memcpy(path, ".", sizeof("."));
    return true;
}

/* Check a FILE that a copy cannot replace: refuse it unless the host has the same file,
 * or for output the same directory. */
static int check(int socket, const struct berth_outside_file *file,
                 struct berth_err *err)
{
    size_t length = file->use == BERTH_OUTSIDE_IN ? berth_outside_files_directory(file)
                                                  : strlen(file->path);
    BERTH_FREE char *path = length ? strndup(file->path, length) : strdup(".");
    BERTH_CLOSE int fd = -1;

    if (!path)
        return berth_err_oom(err);
    if (file->use == BERTH_OUTSIDE_NAME && is_directory(path))
        return 0;
    do /* Slurm makes directories for output */
        fd = open_there(socket, path, O_PATH);
    while (fd < 0 && errno == ENOENT && file->use == BERTH_OUTSIDE_IN && cut(path));
    if (fd < 0 && errno == ENOENT && file->is_searched)
        return 0;
    if (fd < 0)
        return refuse(file->option, file->path, err);
    if (is_same(fd, path))
        return 0;
    return berth_err_set(
        err,
        "%s: '%s' is in the container alone; use a directory that the host has, too",
        file->option, file->path);
}

/* Replace or check FILE, whose path is the last part of *WORD. */
static int pass(int socket, const struct berth_outside_file *file, char **word,
                struct berth_err *err)
{
    return file->use == BERTH_OUTSIDE_READ
               ? carry(socket, file->option, file->path, word, err)
               : check(socket, file, err);
}

/* Does the task have FILE in the same variable? Then the path is one of the host. */
static bool is_tasks(char *const *task, const struct berth_outside_file *file)
{
    const char *was = berth_environ_value(task, file->option);

    return was && strcmp(file->path, was) == 0;
}

int berth_hostfiles_carry(int socket, char **command, struct berth_strvec *environment,
                          char *const *task, struct berth_err *err)
{
    struct berth_outside_files files = berth_outside_files(command);
    struct berth_outside_file file;

    files.is_multi = strcmp(command[0], "srun") == 0 &&
                     berth_environ_value(environment->items, "SLURM_SRUN_MULTI");
    while (berth_outside_files_next(&files, &file))
        if (pass(socket, &file, command + (file.word - command), err) < 0)
            return -1;
    for (size_t i = 0; i < environment->count; i++)
        if (berth_outside_files_variable(command[0], environment->items[i], &file) &&
            !is_tasks(task, &file) &&
            pass(socket, &file, &environment->items[i], err) < 0)
            return -1;
    return 0;
}
