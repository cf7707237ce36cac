/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads the text of a manifest. Opens no file. */

#include "bindover/manifest.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fields.h"
#include "base/text.h"

#define FIELD(kind, member)                                                            \
    {                                                                                  \
#member, BERTH_FIELD_##kind, offsetof(struct berth_manifest, member)           \
    }

static const struct berth_field members[] = {
    FIELD(TEXT, profile), FIELD(TEXT, version), FIELD(TEXT, from),
    FIELD(TEXT, mounted), FIELD(LIST, files),   FIELD(LIST, links),
    FIELD(LIST, set),     FIELD(LIST, sources), {0},
};

/* The release of the form. */
#define FORM "stage"

enum { IDENTITY_SIZE = 128 };

static void identify(const struct stat *st, char identity[IDENTITY_SIZE])
{
    *identity = '\0';
    if (st)
        snprintf(identity, IDENTITY_SIZE, "%llu.%llu.%lld.%lld.%09ld",
                 (unsigned long long)st->st_dev, (unsigned long long)st->st_ino,
                 (long long)st->st_size, (long long)st->st_mtim.tv_sec,
                 st->st_mtim.tv_nsec);
}

void berth_manifest_add_source(struct berth_strvec *sources, const char *path,
                               const struct stat *st)
{
    char identity[IDENTITY_SIZE];

    identify(st, identity);
    berth_strvec_push_pair(sources, path, identity);
}

bool berth_manifest_is_same(const struct stat *st, const char *identity)
{
    char now[IDENTITY_SIZE];

    identify(st, now);
    return strcmp(now, identity) == 0;
}

void berth_manifest_write(const struct berth_manifest *manifest, struct berth_buf *buf)
{
    berth_buf_puts(buf, BERTH_PARTS_FORM);
    berth_parts_label(buf, FORM);
    berth_fields_put(buf, members, manifest);
    berth_buf_puts(buf, BERTH_PARTS_END);
}

/* Refuses paths, each the first of STRIDE strings of LIST, that leave the stage. */
static int check_inside(const struct berth_strvec *list, size_t stride,
                        struct berth_err *err)
{
    for (size_t i = 0; i < list->count; i += stride) {
        const char *file = list->items[i];

        if (*file == '/' || berth_text_starts(file, "../") || strstr(file, "/../"))
            return berth_err_damaged(err, "%s", file);
    }
    return 0;
}

static bool has_texts(const struct berth_manifest *manifest)
{
    const char *const texts[] = {manifest->profile, manifest->version, manifest->from,
                                 manifest->mounted};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (!texts[i])
            return false;
    return true;
}

/* Is each list made of whole entries? */
static bool has_lists(const struct berth_manifest *manifest)
{
    if (manifest->files.count % BERTH_MANIFEST_FILE != 0)
        return false;
    if (manifest->links.count % 2 != 0 || manifest->sources.count % 2 != 0)
        return false;
    for (size_t i = 0; i < manifest->set.count; i++)
        if (!strchr(manifest->set.items[i], '='))
            return false;
    return true;
}

/* Refuses a manifest that lacks something. */
static int check_whole(const struct berth_manifest *manifest, struct berth_err *err)
{
    if (!has_texts(manifest) || !has_lists(manifest))
        return berth_err_damaged(err, "manifest");
    if (check_inside(&manifest->files, BERTH_MANIFEST_FILE, err) < 0)
        return -1;
    return check_inside(&manifest->links, 2, err);
}

int berth_manifest_read(const char *text, struct berth_manifest *ret_manifest,
                        struct berth_err *err)
{
    struct berth_manifest manifest = {0};
    BERTH_FREE char *copy = NULL;
    char *next, *label, *fields;

    if (berth_parts_open(text, BERTH_MANIFEST_MAX, &copy, &next, err) < 0)
        return -1;
    label = berth_parts_next(&next, &fields);
    if (next || !fields || strcmp(label, FORM) != 0)
        return berth_err_damaged(err, "manifest");
    if (berth_fields_get(fields, members, &manifest, err) < 0 ||
        check_whole(&manifest, err) < 0) {
        berth_manifest_fini(&manifest);
        return -1;
    }
    *ret_manifest = manifest;
    return 0;
}

void berth_manifest_fini(struct berth_manifest *manifest)
{
    berth_fields_free(members, manifest);
    *manifest = (struct berth_manifest){0};
}
