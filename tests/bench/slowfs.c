/* SPDX-License-Identifier: Apache-2.0 */
/* A read-only file system that shows a directory, and delays each operation as a shared
 * file system over a network would: slowfs DIRECTORY SERVER MICROSECONDS PER_SECOND
 * FUSE-ARGUMENT... SERVER is a file that all mounts map: it has the time at which the
 * server is free again, because it does PER_SECOND operations (0: any number), and the
 * counts of operations and of bytes. */

#define FUSE_USE_VERSION 31

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct server {
    _Atomic int64_t free;
    _Atomic uint64_t metadata, opens, reads, bytes;
};

static struct server *server;
static int directory;
static int64_t latency, interval; /* nanoseconds */

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Count an operation, and wait until the server has done it. */
static void serve(_Atomic uint64_t *count)
{
    int64_t start = now(), end = start;

    (*count)++;
    if (interval) {
        int64_t before = server->free;

        do
            end = (before > start ? before : start) + interval;
        while (!atomic_compare_exchange_weak(&server->free, &before, end));
    }
    end += latency;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,
                    &(struct timespec){end / 1000000000, end % 1000000000}, NULL);
}

static const char *below(const char *path)
{
    return path[1] ? path + 1 : ".";
}

static int get_attributes(const char *path, struct stat *status,
                          struct fuse_file_info *file)
{
    (void)file;
    serve(&server->metadata);
    return fstatat(directory, below(path), status, AT_SYMLINK_NOFOLLOW) < 0 ? -errno
                                                                            : 0;
}

static int read_link(const char *path, char *text, size_t size)
{
    ssize_t count = readlinkat(directory, below(path), text, size - 1);

    serve(&server->metadata);
    text[count < 0 ? 0 : count] = '\0';
    return count < 0 ? -errno : 0;
}

static int read_directory(const char *path, void *list, fuse_fill_dir_t fill,
                          off_t offset, struct fuse_file_info *file,
                          enum fuse_readdir_flags flags)
{
    DIR *stream = fdopendir(openat(directory, below(path), O_RDONLY | O_DIRECTORY));
    const struct dirent *entry;

    (void)offset, (void)file, (void)flags;
    serve(&server->metadata);
    while (stream && (entry = readdir(stream)))
        fill(list, entry->d_name, NULL, 0, 0);
    return stream ? closedir(stream) : -errno;
}

static int open_file(const char *path, struct fuse_file_info *file)
{
    int fd = openat(directory, below(path), O_RDONLY);

    serve(&server->opens);
    file->fh = (uint64_t)fd;
    file->keep_cache = 1;
    return fd < 0 ? -errno : 0;
}

static int read_file(const char *path, char *bytes, size_t size, off_t offset,
                     struct fuse_file_info *file)
{
    ssize_t count = pread((int)file->fh, bytes, size, offset);

    (void)path;
    serve(&server->reads);
    server->bytes += count > 0 ? (uint64_t)count : 0;
    return count < 0 ? -errno : (int)count;
}

static int close_file(const char *path, struct fuse_file_info *file)
{
    (void)path;
    return close((int)file->fh);
}

int main(int argc, char **argv)
{
    static const struct fuse_operations operations = {.getattr = get_attributes,
                                                      .readlink = read_link,
                                                      .readdir = read_directory,
                                                      .open = open_file,
                                                      .read = read_file,
                                                      .release = close_file};
    int fd;

    if (argc < 6)
        return EXIT_FAILURE;
    directory = open(argv[1], O_RDONLY | O_DIRECTORY);
    fd = open(argv[2], O_RDWR | O_CREAT, 0600);
    if (directory < 0 || fd < 0 || ftruncate(fd, sizeof(*server)) < 0)
        return EXIT_FAILURE;
    server = mmap(NULL, sizeof(*server), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    latency = atoll(argv[3]) * 1000;
    interval = atoll(argv[4]) ? 1000000000 / atoll(argv[4]) : 0;
    argv[4] = argv[0];
    return server == MAP_FAILED ? EXIT_FAILURE
                                : fuse_main(argc - 4, argv + 4, &operations, NULL);
}
