/* SPDX-License-Identifier: Apache-2.0 */
/* Stores facts in files. For each fact: a line with the sizes of key and fact, the key,
 * the fact. The meaning of a fact is not known here. */

#include "step/factcache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/tree.h"

#define DIRECTORY "facts"

enum { NAME_SIZE = 32 };

struct berth_factcache_fact {
    const char *start; /* of its first line */
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

/* Find the facts in the COUNT bytes at TEXT. Returns false if one is not whole. */
static bool split(const char *text, size_t count, struct berth_factcache *cache)
{
    const char *end = text + count;

    while (text < end) {
        struct berth_factcache_fact fact = {.start = text};
        char *next;

        fact.key_count = strtoul(text, &next, 10);
        fact.count = strtoul(next, &next, 10);
        fact.key = next + 1;
        if (*next != '\n' || fact.key_count > (size_t)(end - fact.key) ||
            fact.count > (size_t)(end - fact.key) - fact.key_count ||
            berth_grow(&cache->facts, cache->count, &cache->room, sizeof(fact)) < 0)
            return false;
        fact.bytes = fact.key + fact.key_count;
        cache->facts[cache->count++] = fact;
        text = fact.bytes + fact.count;
    }
    return true;
}

/* Look first at the fact behind the last one: readers mostly ask in the order of the
 * file. */
static const struct berth_factcache_fact *find(const struct berth_factcache *cache,
                                               const char *key, size_t count)
{
    for (size_t i = 0; i < cache->count; i++) {
        const struct berth_factcache_fact *fact =
            &cache->facts[(cache->next + i) % cache->count];

        if (fact->key_count == count && memcmp(fact->key, key, count) == 0)
            return fact;
    }
    return NULL;
}

const char *berth_factcache_get(struct berth_factcache *cache, const char *key,
                                size_t *ret_count)
{
    const struct berth_factcache_fact *fact =
        cache ? find(cache, key, strlen(key)) : NULL;

    if (!fact)
        return NULL;
    cache->next = (size_t)(fact - cache->facts) + 1;
    *ret_count = fact->count;
    return fact->bytes;
}

void berth_factcache_put(struct berth_factcache *cache, const char *key,
                         const struct berth_buf *fact)
{
    BERTH_BUF struct berth_buf all = {0};

    if (!cache || cache->fresh < 0)
        return;
    berth_buf_addf(&all, "%zu %zu\n%s", strlen(key), fact->used, key);
    berth_buf_add(&all, fact->text, fact->used);
    if (!all.failed && !fact->failed)
        berth_fd_write(cache->fresh, all.text, all.used);
}

/* A hash may stand for two subjects, so the first lines are in the file, too. */
static void name_file(const struct berth_factcache *cache, char name[NAME_SIZE])
{
    uint64_t hash = berth_hash(BERTH_HASH_START, cache->start.text, cache->start.used);

    snprintf(name, NAME_SIZE, "%016llx", (unsigned long long)hash);
}

/* Is FD of KIND (S_IFREG, S_IFDIR), and can only the user write it? */
static bool is_ours(int fd, mode_t kind, const struct berth_stage_root *root,
                    struct stat *ret_st)
{
    return fstat(fd, ret_st) == 0 && (ret_st->st_mode & S_IFMT) == kind &&
           ret_st->st_uid == root->owner && !(ret_st->st_mode & root->forbidden);
}

/* Returns a descriptor of the directory of facts; -1: there is none that only the user
 * can write. */
static int open_directory(const struct berth_stage_root *root)
{
    BERTH_CLOSE int top =
        berth_tree_open(root->path, root->owner, root->forbidden, NULL, NULL);
    int fd = top < 0 ? -1
                     : openat(top, DIRECTORY,
                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd >= 0 && !is_ours(fd, S_IFDIR, root, &st)) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool write_text(int directory, const char *name, const struct berth_buf *text)
{
    int fd = openat(directory, name,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool whole = fd >= 0 && write(fd, text->text, text->used) == (ssize_t)text->used;

    /* some file systems report a full disk only here */
    return fd >= 0 && close(fd) == 0 && whole;
}

/* Remove the oldest file if there are too many. Returns how many there were. */
static int remove_oldest(int directory)
{
    BERTH_FREE char *oldest = NULL;
    struct timespec when = {0};
    int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again < 0 ? NULL : fdopendir(again);
    struct dirent *entry;
    int count = 0;

    while (list && (entry = readdir(list))) {
        struct stat st;

        if (fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            S_ISDIR(st.st_mode))
            continue;
        count++;
        if (!oldest || st.st_mtim.tv_sec < when.tv_sec ||
            (st.st_mtim.tv_sec == when.tv_sec && st.st_mtim.tv_nsec < when.tv_nsec)) {
            free(oldest);
            oldest = strdup(entry->d_name);
            when = st.st_mtim;
        }
    }
    if (list)
        closedir(list);
    if (oldest && count > BERTH_FACTCACHE_FILES)
        unlinkat(directory, oldest, 0);
    return count;
}

static void make_directory(const struct berth_stage_root *root)
{
    BERTH_CLOSE int top = berth_stage_root_open(root, NULL);

    if (top >= 0)
        mkdirat(top, DIRECTORY, 0700);
}

/* Read the file of CACHE, if only the user can write it. */
static void read_stored(struct berth_factcache *cache)
{
    char name[NAME_SIZE];
    BERTH_CLOSE int directory = open_directory(cache->root);
    BERTH_CLOSE int fd = -1;
    struct stat st;

    name_file(cache, name);
    if (directory >= 0)
        fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || !is_ours(fd, S_IFREG, cache->root, &st) ||
        st.st_size > BERTH_FACTCACHE_SIZE ||
        berth_fd_read(fd, BERTH_FACTCACHE_SIZE, &cache->stored) < 0)
        return;
    futimens(fd, NULL); /* the file was used: it is not the oldest any more */
}

void berth_factcache_open(const struct berth_stage_root *root, const char *subject,
                          struct berth_factcache *ret)
{
    struct berth_factcache cache = {
        .root = root, .fresh = berth_fd_memory("berth-facts", MFD_CLOEXEC)};
    size_t start;

    berth_buf_puts(&cache.start, "berth-facts 1 " BERTH_VERSION "\n");
    berth_factcache_identify("/proc/self/exe", &cache.start);
    berth_buf_addf(&cache.start, "%s\n", subject);
    start = cache.start.used;
    if (!cache.start.failed)
        read_stored(&cache);
    if (cache.stored.failed || cache.stored.used < start ||
        memcmp(cache.stored.text, cache.start.text, start) != 0 ||
        !split(cache.stored.text + start, cache.stored.used - start, &cache))
        cache.count = 0;
    *ret = cache;
}

/* Append the facts of FRESH, and then those of CACHE that are not in FRESH. */
static void merge(const struct berth_factcache *cache,
                  const struct berth_factcache *fresh, struct berth_buf *ret)
{
    berth_buf_add(ret, fresh->stored.text, fresh->stored.used);
    for (size_t i = 0; i < cache->count; i++) {
        const struct berth_factcache_fact *it = &cache->facts[i];

        if (!find(fresh, it->key, it->key_count))
            berth_buf_add(ret, it->start, (size_t)(it->bytes + it->count - it->start));
    }
}

static void write_file(const struct berth_factcache *cache,
                       const struct berth_buf *text)
{
    BERTH_CLOSE int directory = -1;
    char unfinished[NAME_SIZE];
    char name[NAME_SIZE];

    make_directory(cache->root);
    directory = open_directory(cache->root);
    if (directory < 0)
        return;
    name_file(cache, name);
    snprintf(unfinished, sizeof(unfinished), ".%d", getpid());
    if (!write_text(directory, unfinished, text) ||
        renameat(directory, unfinished, directory, name) < 0)
        unlinkat(directory, unfinished, 0);
    for (int i = 0;
         i < BERTH_FACTCACHE_FILES && remove_oldest(directory) > BERTH_FACTCACHE_FILES;
         i++)
        ;
}

void berth_factcache_save(const struct berth_factcache *cache)
{
    struct berth_factcache fresh = {0};
    BERTH_BUF struct berth_buf text = {0};

    berth_buf_add(&text, cache->start.text, cache->start.used);
    if (cache->fresh < 0 || lseek(cache->fresh, 0, SEEK_SET) != 0 ||
        berth_fd_read(cache->fresh, BERTH_FACTCACHE_SIZE, &fresh.stored) < 0)
        return;
    if (fresh.stored.used && split(fresh.stored.text, fresh.stored.used, &fresh)) {
        merge(cache, &fresh, &text);
        if (text.used > BERTH_FACTCACHE_SIZE) /* drop the old facts */
            text.used = cache->start.used + fresh.stored.used;
        if (!text.failed && text.used <= BERTH_FACTCACHE_SIZE)
            write_file(cache, &text);
    }
    berth_buf_fini(&fresh.stored);
    free(fresh.facts);
}

void berth_factcache_fini(struct berth_factcache *cache)
{
    berth_buf_fini(&cache->start);
    berth_buf_fini(&cache->stored);
    free(cache->facts);
    if (cache->fresh >= 0)
        close(cache->fresh);
    *cache = (struct berth_factcache){.fresh = -1};
}
