/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads the text of a manifest. Opens no file. */

#include "bindover/manifest.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"

enum { FIELDS_MAX = 5 };

/* Adds an item of SIZE bytes, zeroed, to a list. NULL: out of memory. */
static void *add(void *list, size_t *count, size_t *room, size_t size)
{
    char *item;

    if (berth_grow(list, *count, room, size) < 0)
        return NULL;
    item = *(char **)list + (*count)++ * size;
    memset(item, 0, size);
    return item;
}

/* Copies each of the COUNT texts FROM to where the pointer in TO points. */
static int copy(char **const to[], const char *const from[], size_t count,
                struct berth_err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (strpbrk(from[i], "\t\n"))
            return berth_err_set(
                err, "'%s': has a tab or a newline in its name; rename it", from[i]);
        *to[i] = strdup(from[i]);
        if (!*to[i])
            return berth_err_oom(err);
    }
    return 0;
}

int berth_manifest_add_file(struct berth_manifest *manifest,
                            const struct berth_staged_file *file, struct berth_err *err)
{
    struct berth_staged_file *item = add(&manifest->files, &manifest->file_count,
                                         &manifest->file_room, sizeof(*item));

    if (!item)
        return berth_err_oom(err);
    item->size = file->size;
    return copy((char **const[]){&item->file, &item->soname},
                (const char *const[]){file->file, file->soname}, 2, err);
}

int berth_manifest_add_source(struct berth_manifest *manifest,
                              const struct berth_staged_source *source,
                              struct berth_err *err)
{
    struct berth_staged_source *item = add(&manifest->sources, &manifest->source_count,
                                           &manifest->source_room, sizeof(*item));
    const char *path = source->path;

    if (!item)
        return berth_err_oom(err);
    *item = *source;
    item->path = NULL;
    return copy((char **const[]){&item->path}, &path, 1, err);
}

/* Writes fields, ended by NULL, without the end of the record. */
static void put(struct berth_buf *buf, const char *const fields[])
{
    for (size_t i = 0; fields[i]; i++) {
        berth_buf_add(buf, "\t", i > 0);
        berth_buf_puts(buf, fields[i]);
    }
}

#define PUT(buf, ...)                                                                  \
    (put(buf, (const char *const[]){__VA_ARGS__, NULL}), berth_buf_puts(buf, "\n"))

/* Writes COUNT numbers and the end of the record. */
static void put_numbers(struct berth_buf *buf, const uint64_t numbers[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        berth_buf_addf(buf, "\t%llu", (unsigned long long)numbers[i]);
    berth_buf_puts(buf, "\n");
}

static void put_files(const struct berth_manifest *manifest, struct berth_buf *buf)
{
    for (size_t i = 0; i < manifest->file_count; i++) {
        const struct berth_staged_file *it = &manifest->files[i];

        put(buf, (const char *const[]){"file", it->file, it->soname, NULL});
        put_numbers(buf, &it->size, 1);
    }
}

static void put_sources(const struct berth_manifest *manifest, struct berth_buf *buf)
{
    for (size_t i = 0; i < manifest->source_count; i++) {
        const struct berth_staged_source *it = &manifest->sources[i];

        put(buf, (const char *const[]){"source", it->path, NULL});
        put_numbers(buf, (const uint64_t[]){it->device, it->inode, it->size, it->time},
                    4);
    }
}

int berth_manifest_write(const struct berth_manifest *manifest, struct berth_buf *buf,
                         struct berth_err *err)
{
    berth_buf_puts(buf, BERTH_MANIFEST_FORMAT "\n");
    PUT(buf, "profile", manifest->profile, manifest->version);
    PUT(buf, "from", manifest->from);
    PUT(buf, "mounted", manifest->mounted);
    put_files(manifest, buf);
    for (size_t i = 0; i + 1 < manifest->links.count; i += 2)
        PUT(buf, "link", manifest->links.items[i], manifest->links.items[i + 1]);
    for (size_t i = 0; i < manifest->set.count; i++) {
        const char *text = manifest->set.items[i];
        size_t name = strcspn(text, "=");

        berth_buf_puts(buf, "set\t");
        berth_buf_add(buf, text, name);
        PUT(buf, "", text + name + 1);
    }
    put_sources(manifest, buf);
    for (size_t i = 0; i < manifest->absent.count; i++)
        PUT(buf, "absent", manifest->absent.items[i]);
    berth_buf_puts(buf, "end\n");
    return buf->failed ? berth_err_oom(err) : 0;
}

static int read_number(const char *text, uint64_t *ret_number, struct berth_err *err)
{
    char *end;

    errno = 0;
    *ret_number = strtoull(text, &end, 10);
    if (errno || *end || *text < '0' || *text > '9')
        return berth_err_damaged(err, "%s", text);
    return 0;
}

static int read_profile(struct berth_manifest *manifest, const char *const fields[],
                        struct berth_err *err)
{
    return copy((char **const[]){&manifest->profile, &manifest->version}, fields, 2,
                err);
}

static int read_from(struct berth_manifest *manifest, const char *const fields[],
                     struct berth_err *err)
{
    return copy((char **const[]){&manifest->from}, fields, 1, err);
}

static int read_mounted(struct berth_manifest *manifest, const char *const fields[],
                        struct berth_err *err)
{
    return copy((char **const[]){&manifest->mounted}, fields, 1, err);
}

/* Refuses a path that leaves the stage. */
static int check_inside(const char *file, struct berth_err *err)
{
    if (*file == '/' || berth_text_starts(file, "../") || strstr(file, "/../"))
        return berth_err_damaged(err, "%s", file);
    return 0;
}

static int read_file(struct berth_manifest *manifest, const char *const fields[],
                     struct berth_err *err)
{
    struct berth_staged_file file = {.file = (char *)fields[0],
                                     .soname = (char *)fields[1]};

    if (check_inside(fields[0], err) < 0 || read_number(fields[2], &file.size, err) < 0)
        return -1;
    return berth_manifest_add_file(manifest, &file, err);
}

static int read_link(struct berth_manifest *manifest, const char *const fields[],
                     struct berth_err *err)
{
    berth_strvec_push(&manifest->links, fields[0]);
    berth_strvec_push(&manifest->links, fields[1]);
    return check_inside(fields[0], err);
}

static int read_set(struct berth_manifest *manifest, const char *const fields[],
                    struct berth_err *err)
{
    (void)err;
    berth_strvec_pushf(&manifest->set, "%s=%s", fields[0], fields[1]);
    return 0;
}

static int read_source(struct berth_manifest *manifest, const char *const fields[],
                       struct berth_err *err)
{
    struct berth_staged_source source = {.path = (char *)fields[0]};

    if (read_number(fields[1], &source.device, err) < 0 ||
        read_number(fields[2], &source.inode, err) < 0 ||
        read_number(fields[3], &source.size, err) < 0 ||
        read_number(fields[4], &source.time, err) < 0)
        return -1;
    return berth_manifest_add_source(manifest, &source, err);
}

static int read_absent(struct berth_manifest *manifest, const char *const fields[],
                       struct berth_err *err)
{
    (void)err;
    berth_strvec_push(&manifest->absent, fields[0]);
    return 0;
}

static const struct {
    const char *word;
    size_t fields;
    bool once;
    int (*read)(struct berth_manifest *manifest, const char *const fields[],
                struct berth_err *err);
} records[] = {
    {"profile", 2, true, read_profile}, {"from", 1, true, read_from},
    {"mounted", 1, true, read_mounted}, {"file", 3, false, read_file},
    {"link", 2, false, read_link},      {"set", 2, false, read_set},
    {"source", 5, false, read_source},  {"absent", 1, false, read_absent},
};

enum { RECORDS = sizeof(records) / sizeof(records[0]) };

/* Reads a line that is neither the first nor the last. SEEN counts the records by kind.
 */
static int read_line(struct berth_manifest *manifest, char *line, int seen[RECORDS],
                     struct berth_err *err)
{
    const char *fields[FIELDS_MAX + 1];
    const char *word = strsep(&line, "\t");
    size_t count = 0;

    while (line && count <= FIELDS_MAX)
        fields[count++] = strsep(&line, "\t");
    for (size_t i = 0; i < RECORDS; i++) {
        if (strcmp(word, records[i].word) != 0)
            continue;
        if (count != records[i].fields || (seen[i]++ && records[i].once))
            break;
        return records[i].read(manifest, fields, err);
    }
    return berth_err_damaged(err, "%s", word);
}

/* Refuses a manifest that lacks a record, or for which memory was missing. */
static int check_whole(const struct berth_manifest *manifest, const int seen[RECORDS],
                       struct berth_err *err)
{
    for (size_t i = 0; i < RECORDS; i++)
        if (records[i].once && !seen[i])
            return berth_err_damaged(err, "%s", records[i].word);
    if (manifest->links.failed || manifest->set.failed || manifest->absent.failed)
        return berth_err_oom(err);
    return 0;
}

static int read_lines(struct berth_manifest *manifest, char *text,
                      struct berth_err *err)
{
    int seen[RECORDS] = {0};
    char *line = strsep(&text, "\n");

    if (strcmp(line, BERTH_MANIFEST_FORMAT) != 0)
        return berth_err_damaged(err, "%s", line);
    while (text && *text) {
        line = strsep(&text, "\n");
        if (strcmp(line, "end") == 0)
            return check_whole(manifest, seen, err);
        if (read_line(manifest, line, seen, err) < 0)
            return -1;
    }
    return berth_err_damaged(err, "end");
}

int berth_manifest_read(char *text, struct berth_manifest *ret_manifest,
                        struct berth_err *err)
{
    struct berth_manifest manifest = {0};

    if (read_lines(&manifest, text, err) < 0) {
        berth_manifest_fini(&manifest);
        return -1;
    }
    *ret_manifest = manifest;
    return 0;
}

void berth_manifest_fini(struct berth_manifest *manifest)
{
    free(manifest->profile);
    free(manifest->version);
    free(manifest->from);
    free(manifest->mounted);
    for (size_t i = 0; i < manifest->file_count; i++) {
        free(manifest->files[i].file);
        free(manifest->files[i].soname);
    }
    for (size_t i = 0; i < manifest->source_count; i++)
        free(manifest->sources[i].path);
    free(manifest->files);
    free(manifest->sources);
    berth_strvec_fini(&manifest->links);
    berth_strvec_fini(&manifest->set);
    berth_strvec_fini(&manifest->absent);
    *manifest = (struct berth_manifest){0};
}
