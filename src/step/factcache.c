/* SPDX-License-Identifier: Apache-2.0 */
/* Appends facts to files. For each fact: a line with the sizes of key and fact and
 * their check, the key, the fact. The meaning of a fact is not known here. */

#include "step/factcache.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/grow.h"
#include "base/hash.h"

#define DIRECTORY "facts"

struct berth_factcache_fact {
    const char *key;
    size_t key_count;
    const char *bytes;
    size_t count;
};

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

/* Find the facts in the contents of the file. Returns false if one is not whole:
 * several steps append to a file, and a step may be killed, or the disk full,
 * meanwhile. */
static bool split(struct berth_factcache *cache)
{
    const char *text = cache->stored.text;
    const char *end = text + cache->stored.used;

    while (text < end) {
        struct berth_factcache_fact fact = {0};
        uint64_t check;
        char *next;

        fact.key_count = strtoul(text, &next, 10);
        fact.count = strtoul(next, &next, 10);
        check = strtoull(next, &next, 16);
        fact.key = next + 1;
        if (*next != '\n' || fact.key_count > (size_t)(end - fact.key) ||
            fact.count > (size_t)(end - fact.key) - fact.key_count ||
            check != berth_hash(cache->start, fact.key, fact.key_count + fact.count) ||
            berth_grow(&cache->facts, cache->count, &cache->room, sizeof(fact)) < 0)
            return false;
        fact.bytes = fact.key + fact.key_count;
        cache->facts[cache->count++] = fact;
        text = fact.bytes + fact.count;
    }
    return true;
}

/* A newer fact stands behind the one that it replaces. */
const char *berth_factcache_get(const struct berth_factcache *cache, const char *key,
                                size_t *ret_count)
{
    size_t length = strlen(key);

    for (size_t i = cache ? cache->count : 0; i-- > 0;) {
        const struct berth_factcache_fact *fact = &cache->facts[i];

        if (fact->key_count == length && memcmp(fact->key, key, length) == 0) {
            *ret_count = fact->count;
            return fact->bytes;
        }
    }
    return NULL;
}

/* One write(2): the kernel puts it behind all that other steps have appended. */
void berth_factcache_put(const struct berth_factcache *cache, const char *key,
                         const struct berth_buf *fact)
{
    BERTH_BUF struct berth_buf all = {0};
    struct stat st;
    uint64_t check;

    if (!cache || cache->file < 0)
        return;
    check = berth_hash(cache->start, key, strlen(key));
    check = berth_hash(check, fact->text, fact->used);
    berth_buf_addf(&all, "%zu %zu %llx\n%s", strlen(key), fact->used,
                   (unsigned long long)check, key);
    berth_buf_add(&all, fact->text, fact->used);
    if (all.failed || fact->failed || all.used > BERTH_FACTCACHE_SIZE ||
        fstat(cache->file, &st) < 0)
        return;
    if ((size_t)st.st_size > BERTH_FACTCACHE_SIZE - all.used &&
        ftruncate(cache->file, 0) < 0)
        return;
    if (write(cache->file, all.text, all.used) < 0)
        return; /* it is only a cache */
}

/* Returns FD if it is of KIND (S_IFREG, S_IFDIR), and only the user can write it; else
 * closes it and returns -1. */
static int check_ours(int fd, mode_t kind, const struct berth_stage_root *root)
{
    struct stat st;

    if (fd < 0 || (fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == kind &&
                   st.st_uid == root->owner && !(st.st_mode & root->forbidden)))
        return fd;
    close(fd);
    return -1;
}

/* Open the file NAME of the directory of facts, and make both if they are missing. */
static int open_file(const struct berth_stage_root *root, const char *name)
{
    BERTH_CLOSE int top = berth_stage_root_open(root, NULL);
    BERTH_CLOSE int facts = -1;

    if (top < 0)
        return -1;
    mkdirat(top, DIRECTORY, 0700);
    facts = openat(top, DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    facts = check_ours(facts, S_IFDIR, root);
    return facts < 0 ? -1
                     : check_ours(openat(facts, name,
                                         O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW |
                                             O_NONBLOCK | O_CLOEXEC,
                                         0600),
                                  S_IFREG, root);
}

/* The name of a file is a hash of the subject. Two subjects may have the same, and the
 * program may be another one by now: so the check of a fact begins with both. */
void berth_factcache_open(const struct berth_stage_root *root, const char *subject,
                          struct berth_factcache *ret)
{
    BERTH_BUF struct berth_buf start = {0};
    struct berth_factcache cache = {.file = -1};
    char name[32];

    berth_buf_puts(&start, "2 " BERTH_VERSION "\n");
    berth_factcache_identify("/proc/self/exe", &start);
    berth_buf_puts(&start, subject);
    snprintf(
        name, sizeof(name), "%016llx",
        (unsigned long long)berth_hash(BERTH_HASH_START, subject, strlen(subject)));
    if (!start.failed)
        cache.file = open_file(root, name);
    cache.start = berth_hash(BERTH_HASH_START, start.text, start.used);
    if (cache.file >= 0) {
        futimens(cache.file, NULL); /* it is in use */
        if (berth_fd_read(cache.file, BERTH_FACTCACHE_SIZE + 1, &cache.stored) < 0 ||
            cache.stored.failed || !split(&cache)) {
            cache.count = 0;
            (void)!ftruncate(cache.file, 0); /* if it fails, the next step tries */
        }
    }
    *ret = cache;
}

void berth_factcache_fini(struct berth_factcache *cache)
{
    berth_buf_fini(&cache->stored);
    free(cache->facts);
    if (cache->file >= 0)
        close(cache->file);
    *cache = (struct berth_factcache){.file = -1};
}
