/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes that are complete: a call that was interrupted, or that moved a
 * part, is made again. */

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U /* Linux 6.3 */
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 0x10U /* Linux 6.3 */
#endif

/* Linux before 6.3 does not know the flag; later ones may require it
 * (vm.memfd_noexec=2). */
int berth_fd_memory(const char *name, unsigned int flags)
{
    int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);

    if (fd < 0 && errno == EINVAL)
        return memfd_create(name, flags);
    return fd;
}

/* Copy the bytes of FROM to TO, files, by any way that all file systems have. */
static int copy(int from, int to)
{
    char bytes[65536];
    off_t at = 0;

    for (;;) {
        ssize_t got = pread(from, bytes, sizeof(bytes), at);

        if (got == 0)
            return 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 || berth_fd_write(to, bytes, (size_t)got) < 0)
            return -1;
        at += got;
    }
}

/* Copy FROM to the memory TO, make TO executable, and let nobody change it. */
static int copy_sealed(int from, int to)
{
    const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;

    if (copy(from, to) < 0)
        return -1;
    if (fchmod(to, 0500) < 0)
        return -1;
    return fcntl(to, F_ADD_SEALS, seals);
}

int berth_fd_sealed(int from, const char *name)
{
    const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create(name, flags | MFD_EXEC);
    int number;

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, flags);
    if (fd < 0)
        return -1;
    if (copy_sealed(from, fd) == 0)
        return fd;
    number = errno;
    close(fd);
    errno = number;
    return -1;
}

int berth_fd_read(int fd, size_t most, struct berth_buf *buf)
{
    char bytes[16384];

    while (buf->used < most && !buf->failed) {
        size_t count = most - buf->used;
        ssize_t got;

        if (count > sizeof(bytes))
            count = sizeof(bytes);
        got = read(fd, bytes, count);
        if (got == 0)
            break;
        if (got > 0)
            berth_buf_add(buf, bytes, (size_t)got);
        else if (errno != EINTR)
            return -1;
    }
    return 0;
}

int berth_fd_read_path(const char *path, size_t most, struct berth_buf *buf)
{
    BERTH_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return -1;
    return berth_fd_read(fd, most, buf);
}

int berth_fd_write(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;

    while (count > 0) {
        ssize_t put = write(fd, at, count);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        at += put;
        count -= (size_t)put;
    }
    return 0;
}

void berth_fd_reserve(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        /* Whoever uses it as it was meant gets an error, as of a closed one. */
        int access = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;

        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", access | O_CLOEXEC);
    }
}
