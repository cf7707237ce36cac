/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps each fact in a file: a check, the key and its NUL, the fact. The meaning of a
 * fact is not known here. */

#include "bindover/factcache.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/installed.h"

enum { NAME_SIZE = 32 };

void berth_factcache_identify(const char *path, struct berth_buf *key)
{
    char identity[128] = "";
    struct stat st;

    if (stat(path, &st) == 0)
        snprintf(identity, sizeof(identity), "%llu %lld.%09ld %lld.%09ld %llu",
                 (unsigned long long)st.st_size, (long long)st.st_mtim.tv_sec,
                 st.st_mtim.tv_nsec, (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec,
                 (unsigned long long)st.st_ino);
    berth_buf_addf(key, "%s\t%s\n", path, identity);
}

static void write_name(const struct berth_factcache *cache, const char *key,
                       char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, "%016llx",
             (unsigned long long)berth_hash(cache->name, key, strlen(key)));
}

/* The fact in the COUNT bytes of a file, if it is whole and under KEY; else NULL. */
static const char *find(const struct berth_factcache *cache, const char *bytes,
                        size_t count, const char *key, size_t *ret_count)
{
    size_t before = sizeof(uint64_t) + strlen(key) + 1;
    uint64_t check;

    if (count < before || strcmp(bytes + sizeof(check), key) != 0)
        return NULL;
    memcpy(&check, bytes, sizeof(check));
    if (check != berth_hash(cache->check, bytes + sizeof(check), count - sizeof(check)))
        return NULL;
    *ret_count = count - before;
    return bytes + before;
}

const char *berth_factcache_get(const struct berth_factcache *cache, const char *key,
                                size_t *ret_count)
{
    BERTH_CLOSE int fd = -1;
    char name[NAME_SIZE];
    struct stat st;
    char *bytes;

    if (!cache)
        return NULL;
    write_name(cache, key, name);
    fd = openat(cache->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return NULL;
    futimens(fd, NULL); /* it is in use */
    bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return NULL;
    return find(cache, bytes, (size_t)st.st_size, key, ret_count);
}

/* Several steps may store the same fact, and a step may be killed, or the disk full,
 * meanwhile: so a file gets its name when it is whole. */
void berth_factcache_put(const struct berth_factcache *cache, const char *key,
                         const struct berth_buf *fact)
{
    BERTH_BUF struct berth_buf all = {0};
    BERTH_CLOSE int fd = -1;
    size_t length = strlen(key) + 1;
    char name[NAME_SIZE], made[NAME_SIZE + 16];
    uint64_t check;

    if (!cache)
        return;
    check = berth_hash(cache->check, key, length);
    check = berth_hash(check, fact->text, fact->used);

    berth_buf_add(&all, (const char *)&check, sizeof(check));
    berth_buf_add(&all, key, length);
    berth_buf_add(&all, fact->text, fact->used);
    if (all.failed || fact->failed)
        return;

    write_name(cache, key, name);
    snprintf(made, sizeof(made), "%s.%d", name, getpid());
    fd = openat(cache->directory, made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (berth_fd_write(fd, all.text, all.used) < 0 ||
        renameat(cache->directory, made, cache->directory, name) < 0)
        unlinkat(cache->directory, made, 0);
}

/* Two subjects may have the same hash, and the program may be another one by now: so
 * the check of a fact begins with both. */
void berth_factcache_open(const struct berth_stage_root *root, const char *subject,
                          struct berth_factcache *ret)
{
    BERTH_BUF struct berth_buf start = {0};
    BERTH_FREE char *path = NULL;
    BERTH_CLOSE int top = berth_stage_root_open(root, NULL);
    struct berth_stage_root facts = *root;
    const char *self = berth_installed_self();

    berth_buf_puts(&start, BERTH_VERSION "\n");
    berth_factcache_identify(self ? self : "/proc/self/exe", &start);
    berth_buf_puts(&start, subject);
    *ret = (struct berth_factcache){
        .directory = -1,
        .name = berth_hash(BERTH_HASH_START, subject, strlen(subject)),
        .check = berth_hash(BERTH_HASH_START, start.text, start.used)};
    if (start.failed || top < 0 || asprintf(&path, "%s/facts", root->path) < 0)
        return;
    facts.path = path;
    ret->directory = berth_stage_root_open(&facts, NULL);
}

void berth_factcache_fini(struct berth_factcache *cache)
{
    if (cache->directory >= 0)
        close(cache->directory);
    cache->directory = -1;
}
