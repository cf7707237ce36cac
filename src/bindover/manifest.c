/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads the text of a manifest. Opens no file. */

#include "bindover/manifest.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fields.h"
#include "base/grow.h"
#include "base/text.h"

#define FIELD(type, kind, member)                                                      \
    {                                                                                  \
#member, BERTH_FIELD_##kind, offsetof(struct berth_##type, member)             \
    }

static const struct berth_field stage_fields[] = {
    FIELD(manifest, TEXT, profile), FIELD(manifest, TEXT, version),
    FIELD(manifest, TEXT, from),    FIELD(manifest, TEXT, mounted),
    FIELD(manifest, LIST, links),   FIELD(manifest, LIST, set),
    FIELD(manifest, LIST, absent),  {0},
};
static const struct berth_field file_fields[] = {
    FIELD(staged_file, TEXT, file),
    FIELD(staged_file, TEXT, soname),
    FIELD(staged_file, LARGE, size),
    {0},
};
static const struct berth_field source_fields[] = {
    FIELD(staged_source, TEXT, path),   FIELD(staged_source, LARGE, device),
    FIELD(staged_source, LARGE, inode), FIELD(staged_source, LARGE, size),
    FIELD(staged_source, LARGE, time),  {0},
};

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

static struct berth_staged_file *add_file(struct berth_manifest *manifest)
{
    return add(&manifest->files, &manifest->file_count, &manifest->file_room,
               sizeof(*manifest->files));
}

static struct berth_staged_source *add_source(struct berth_manifest *manifest)
{
    return add(&manifest->sources, &manifest->source_count, &manifest->source_room,
               sizeof(*manifest->sources));
}

int berth_manifest_add_file(struct berth_manifest *manifest,
                            const struct berth_staged_file *file, struct berth_err *err)
{
    struct berth_staged_file *item = add_file(manifest);

    if (!item)
        return berth_err_oom(err);
    item->size = file->size;
    item->file = strdup(file->file);
    item->soname = strdup(file->soname);
    return item->file && item->soname ? 0 : berth_err_oom(err);
}

int berth_manifest_add_source(struct berth_manifest *manifest,
                              const struct berth_staged_source *source,
                              struct berth_err *err)
{
    struct berth_staged_source *item = add_source(manifest);

    if (!item)
        return berth_err_oom(err);
    *item = *source;
    item->path = strdup(source->path);
    return item->path ? 0 : berth_err_oom(err);
}

int berth_manifest_write(const struct berth_manifest *manifest, struct berth_buf *buf,
                         struct berth_err *err)
{
    berth_buf_puts(buf, BERTH_PARTS_FORM);
    berth_parts_label(buf, "stage");
    berth_fields_put(buf, stage_fields, manifest);
    for (size_t i = 0; i < manifest->file_count; i++) {
        berth_parts_label(buf, "file");
        berth_fields_put(buf, file_fields, &manifest->files[i]);
    }
    for (size_t i = 0; i < manifest->source_count; i++) {
        berth_parts_label(buf, "source");
        berth_fields_put(buf, source_fields, &manifest->sources[i]);
    }
    berth_buf_puts(buf, BERTH_PARTS_END);
    return buf->failed ? berth_err_oom(err) : 0;
}

static int read_part(struct berth_manifest *manifest, const char *label, char *fields,
                     struct berth_err *err)
{
    const struct berth_field *table = stage_fields;
    void *record = manifest;

    if (strcmp(label, "file") == 0) {
        table = file_fields;
        record = add_file(manifest);
    } else if (strcmp(label, "source") == 0) {
        table = source_fields;
        record = add_source(manifest);
    }
    if (!record)
        return berth_err_oom(err);
    return berth_fields_get(fields ? fields : (char[]){""}, table, record, err);
}

/* Refuses a path that leaves the stage. */
static int check_inside(const char *file, struct berth_err *err)
{
    if (*file == '/' || berth_text_starts(file, "../") || strstr(file, "/../"))
        return berth_err_damaged(err, "%s", file);
    return 0;
}

/* Refuses a manifest that lacks something. */
static int check_whole(const struct berth_manifest *manifest, struct berth_err *err)
{
    bool is_whole = manifest->profile && manifest->version && manifest->from &&
                    manifest->mounted && manifest->links.count % 2 == 0;

    for (size_t i = 0; i < manifest->file_count; i++) {
        is_whole &= manifest->files[i].file && manifest->files[i].soname;
        if (manifest->files[i].file && check_inside(manifest->files[i].file, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < manifest->links.count; i += 2)
        if (check_inside(manifest->links.items[i], err) < 0)
            return -1;
    for (size_t i = 0; i < manifest->set.count; i++)
        is_whole &= strchr(manifest->set.items[i], '=') != NULL;
    for (size_t i = 0; i < manifest->source_count; i++)
        is_whole &= manifest->sources[i].path != NULL;
    return is_whole ? 0 : berth_err_damaged(err, "manifest");
}

int berth_manifest_read(const char *text, struct berth_manifest *ret_manifest,
                        struct berth_err *err)
{
    struct berth_manifest manifest = {0};
    BERTH_FREE char *copy = NULL;
    char *next, *fields;
    int result = berth_parts_open(text, BERTH_MANIFEST_MAX, &copy, &next, err);

    for (char *label; result == 0 && (label = berth_parts_next(&next, &fields));)
        result = read_part(&manifest, label, fields, err);
    if (result == 0)
        result = check_whole(&manifest, err);
    if (result == 0)
        *ret_manifest = manifest;
    else
        berth_manifest_fini(&manifest);
    return result;
}

void berth_manifest_fini(struct berth_manifest *manifest)
{
    for (size_t i = 0; i < manifest->file_count; i++)
        berth_fields_free(file_fields, &manifest->files[i]);
    for (size_t i = 0; i < manifest->source_count; i++)
        berth_fields_free(source_fields, &manifest->sources[i]);
    free(manifest->files);
    free(manifest->sources);
    berth_fields_free(stage_fields, manifest);
    *manifest = (struct berth_manifest){0};
}
