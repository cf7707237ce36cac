/* SPDX-License-Identifier: Apache-2.0 */
/* Memos as text in files. Knows nothing of what they say. */

#include "step/memo.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/tree.h"

#define DIRECTORY "memo"
#define FORMAT    "berth-memo\t1\n"
#define END       "end\n"

enum { MEMO_MAX = 1 << 20, NAME_SIZE = 32 };

static const char *const words[BERTH_MEMO_KINDS] = {
    [BERTH_MEMO_STAGE] = "stage",     [BERTH_MEMO_HOST] = "host",
    [BERTH_MEMO_PROGRAM] = "program", [BERTH_MEMO_FILE] = "file",
    [BERTH_MEMO_BIND] = "bind",       [BERTH_MEMO_OUT] = "out",
    [BERTH_MEMO_SET] = "set",         [BERTH_MEMO_NOTE] = "note",
    [BERTH_MEMO_TARGET] = "target",   [BERTH_MEMO_FOUND] = "found",
    [BERTH_MEMO_DIGEST] = "digest",   [BERTH_MEMO_NODE_NOTE] = "node-note",
    [BERTH_MEMO_WITNESS] = "witness",
};

void berth_memo_identity(const char *path, bool with_device,
                         char identity[BERTH_MEMO_IDENTITY_SIZE])
{
    struct stat st;
    int used;

    *identity = '\0';
    if (stat(path, &st) < 0)
        return;
    used = snprintf(identity, BERTH_MEMO_IDENTITY_SIZE, "%llu %lld.%09ld %llu",
                    (unsigned long long)st.st_size, (long long)st.st_mtim.tv_sec,
                    st.st_mtim.tv_nsec, (unsigned long long)st.st_ino);
    if (with_device)
        snprintf(identity + used, (size_t)(BERTH_MEMO_IDENTITY_SIZE - used), " %llu",
                 (unsigned long long)st.st_dev);
}

void berth_memo_add(struct berth_memo *memo, enum berth_memo_kind kind,
                    const char *first, const char *second)
{
    struct berth_memo_record *record;

    /* A record is a line. */
    if (strpbrk(first, "\t\n") || strpbrk(second, "\t\n") ||
        berth_grow(&memo->records, memo->count, &memo->room, sizeof(*record)) < 0) {
        memo->failed = true;
        return;
    }
    record = &memo->records[memo->count++];
    *record = (struct berth_memo_record){.kind = kind, strdup(first), strdup(second)};
    memo->failed |= !record->first || !record->second;
}

static void put(struct berth_buf *buf, const struct berth_memo *memo)
{
    for (size_t i = 0; i < memo->count; i++) {
        const struct berth_memo_record *record = &memo->records[i];

        berth_buf_puts(buf, words[record->kind]);
        berth_buf_puts(buf, "\t");
        berth_buf_puts(buf, record->first);
        berth_buf_puts(buf, "\t");
        berth_buf_puts(buf, record->second);
        berth_buf_puts(buf, "\n");
    }
}

/* One line, without its end. */
static bool take_line(char *line, struct berth_memo *memo)
{
    const char *word = strsep(&line, "\t");
    const char *first = strsep(&line, "\t");
    size_t kind = 0;

    while (kind < BERTH_MEMO_KINDS && strcmp(word, words[kind]) != 0)
        kind++;
    if (kind == BERTH_MEMO_KINDS || !line || strchr(line, '\t'))
        return false;
    berth_memo_add(memo, (enum berth_memo_kind)kind, first, line);
    return !memo->failed;
}

/* The records in TEXT, up to its end, which has to be there. */
static bool take(char *text, struct berth_memo *memo)
{
    while (strcmp(text, END) != 0) {
        char *line = strsep(&text, "\n");

        if (!text || !take_line(line, memo))
            return false;
    }
    return true;
}

/* The key itself is in the file. */
static void name_memo(const char *key, char name[NAME_SIZE])
{
    uint64_t hash = berth_hash(BERTH_HASH_START, key, strlen(key));

    snprintf(name, NAME_SIZE, "%016llx", (unsigned long long)hash);
}

/* Is what is open at FD of KIND, and the user's alone? */
static bool is_ours(int fd, mode_t kind, const struct berth_stage_root *root,
                    struct stat *ret_st)
{
    return fstat(fd, ret_st) == 0 && (ret_st->st_mode & S_IFMT) == kind &&
           ret_st->st_uid == root->owner && !(ret_st->st_mode & root->forbidden);
}

/* Descriptor of the directory of memos; -1: there is none that is ours. */
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

/* All of the file open at FD; NULL: it is not ours, too large or cannot be read. */
static char *read_text(int fd, const struct berth_stage_root *root)
{
    BERTH_FREE char *text = NULL;
    struct stat st;
    ssize_t got;

    if (!is_ours(fd, S_IFREG, root, &st) || st.st_size > MEMO_MAX)
        return NULL;
    text = malloc((size_t)st.st_size + 1);
    got = text ? read(fd, text, (size_t)st.st_size) : -1;
    if (got != st.st_size)
        return NULL;
    text[got] = '\0';
    return berth_steal(&text);
}

bool berth_memo_load(const struct berth_stage_root *root, const char *key,
                     struct berth_memo *ret_memo)
{
    char name[NAME_SIZE];
    BERTH_CLOSE int directory = open_directory(root);
    BERTH_CLOSE int fd = -1;
    BERTH_FREE char *text = NULL;
    struct berth_memo memo = {0};
    size_t format = strlen(FORMAT);

    name_memo(key, name);
    if (directory >= 0)
        fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    text = fd < 0 ? NULL : read_text(fd, root);
    if (!text || strncmp(text, FORMAT, format) != 0 ||
        !berth_text_starts(text + format, key))
        return false;
    if (!take(text + format + strlen(key), &memo)) {
        berth_memo_fini(&memo);
        return false;
    }
    futimens(fd, NULL); /* it is of use */
    *ret_memo = memo;
    return true;
}

static bool write_text(int directory, const char *name, const struct berth_buf *text)
{
    int fd = openat(directory, name,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool whole = fd >= 0 && write(fd, text->text, text->used) == (ssize_t)text->used;

    /* Some file systems say only now that there is no room. */
    return fd >= 0 && close(fd) == 0 && whole;
}

/* Remove the oldest file if there are too many; returns how many there were. */
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
    if (oldest && count > BERTH_MEMOS_MAX)
        unlinkat(directory, oldest, 0);
    return count;
}

static void make_directory(const struct berth_stage_root *root)
{
    BERTH_CLOSE int top = berth_stage_root_open(root, NULL);

    if (top >= 0)
        mkdirat(top, DIRECTORY, 0700);
}

void berth_memo_save(const struct berth_stage_root *root, const char *key,
                     const struct berth_memo *memo)
{
    BERTH_BUF struct berth_buf text = {0};
    BERTH_CLOSE int directory = -1;
    char unfinished[NAME_SIZE];
    char name[NAME_SIZE];

    berth_buf_puts(&text, FORMAT);
    berth_buf_puts(&text, key);
    put(&text, memo);
    berth_buf_puts(&text, END);
    if (memo->failed || text.failed || text.used > MEMO_MAX)
        return;
    make_directory(root);
    directory = open_directory(root);
    if (directory < 0)
        return;
    name_memo(key, name);
    snprintf(unfinished, sizeof(unfinished), ".%d", getpid());
    if (!write_text(directory, unfinished, &text) ||
        renameat(directory, unfinished, directory, name) < 0)
        unlinkat(directory, unfinished, 0);
    for (int i = 0; i < BERTH_MEMOS_MAX && remove_oldest(directory) > BERTH_MEMOS_MAX;
         i++)
        ;
}

void berth_memo_forget(const struct berth_stage_root *root, const char *key)
{
    BERTH_CLOSE int directory = open_directory(root);
    char name[NAME_SIZE];

    name_memo(key, name);
    if (directory >= 0)
        unlinkat(directory, name, 0);
}

void berth_memo_fini(struct berth_memo *memo)
{
    for (size_t i = 0; i < memo->count; i++) {
        free(memo->records[i].first);
        free(memo->records[i].second);
    }
    free(memo->records);
    *memo = (struct berth_memo){0};
}
