/* SPDX-License-Identifier: Apache-2.0 */
/* From the tree of a file of profiles.d to a profile. Knows every key, and of YAML only
 * the tree; what a profile is for is known elsewhere. */

#include "conf/profiles.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "conf/suggest.h"
#include "conf/syntax.h"
#include "conf/values.h"

struct reading {
    const char *file;
    struct berth_profile_set *set;
    struct berth_strvec *faults;
    struct berth_profile profile;
    bool failed; /* out of memory */
};

/* The set frees BLOCK; NULL: out of memory. */
static void *own(struct reading *reading, void *block)
{
    struct berth_profile_set *set = reading->set;
    void **more =
        block ? realloc(set->owned, (set->owned_count + 1) * sizeof(*more)) : NULL;

    if (!more) {
        free(block);
        reading->failed = true;
        return NULL;
    }
    set->owned = more;
    more[set->owned_count++] = block;
    return block;
}

/* Keep what ERR says of what KEY has on LINE. */
static void keep(struct reading *reading, unsigned int line, const char *key,
                 struct berth_err *err)
{
    berth_err_at(err, "%s:%u: %s", reading->file, line, key);
    berth_strvec_push(reading->faults, err->text);
}

static int mismatch(const struct berth_node *node, const char *expected,
                    struct berth_err *err)
{
    if (node->kind == BERTH_NODE_SCALAR)
        return berth_err_set(err, "expected %s, got '%s'", expected, node->text);
    return berth_err_set(err, "expected %s, got %s", expected,
                         node->kind == BERTH_NODE_LIST ? "a list" : "a section");
}

static int check_name(const char *text, struct berth_err *err)
{
    static const char *const taken[] = {"auto",  "host",       "hybrid",
                                        "local", "local-each", "off"};

    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        if (strcmp(text, taken[i]) == 0)
            return berth_err_set(err, "'%s' is a mode of --mpi-bind; name it otherwise",
                                 text);
    if (!*text || text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-")])
        return berth_err_set(err, "expected small letters, digits and -, got '%s'",
                             text);
    return 0;
}

/* A SONAME, or a pattern of some. */
static int check_library(const char *text, struct berth_err *err)
{
    if (!*text || strchr(text, '/'))
        return berth_err_set(err, "expected the SONAME of a library, got '%s'", text);
    return 0;
}

/* Nothing of a stage lies outside of it. */
static int check_inside(const char *text, struct berth_err *err)
{
    BERTH_FREE char *path = NULL;

    if (*text && *text != '/' && asprintf(&path, "/%s", text) > 0 &&
        berth_value_path(path, err) == 0)
        return 0;
    return berth_err_set(err, "expected a path below the stage, got '%s'", text);
}

static int check_device(const char *text, struct berth_err *err)
{
    if (strncmp(text, "/dev/", 5) == 0)
        return berth_value_path(text, err);
    return berth_err_set(err, "expected a path of /dev, got '%s'", text);
}

typedef int rule(const char *text, struct berth_err *err);

static int take_text(struct reading *reading, const struct berth_node *node,
                     rule *check, const char **ret, struct berth_err *err)
{
    if (node->kind != BERTH_NODE_SCALAR)
        return mismatch(node, "one value", err);
    if (check(node->text, err) < 0)
        return -1;
    *ret = own(reading, strdup(node->text));
    return 0;
}

/* A fault of one item does not hide those of others. Of an empty list there is nothing
 * to tell. */
static int take_list(struct reading *reading, const struct berth_node *node,
                     const char *key, rule *check, const char *const **ret,
                     struct berth_err *err)
{
    const char **items;
    size_t count = 0;
    struct berth_err why;

    if (node->kind != BERTH_NODE_LIST)
        return mismatch(node, "a list", err);
    items = own(reading, calloc(node->count + 1, sizeof(*items)));
    for (size_t i = 0; items && i < node->count; i++)
        if (take_text(reading, &node->items[i], check, &items[count], &why) < 0)
            keep(reading, node->items[i].line, key, &why);
        else
            count++;
    *ret = count ? items : NULL;
    return 0;
}

static int take_family(struct reading *reading, const struct berth_node *node,
                       struct berth_err *err)
{
    static const struct {
        const char *name;
        enum berth_mpi_family family;
    } families[] = {{"mpich", BERTH_MPI_MPICH}, {"openmpi", BERTH_MPI_OPENMPI}};

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (node->kind == BERTH_NODE_SCALAR &&
            strcmp(node->text, families[i].name) == 0) {
            reading->profile.family = families[i].family;
            return 0;
        }
    return mismatch(node, "mpich or openmpi", err);
}

static int take_match(struct reading *reading, const struct berth_node *node,
                      struct berth_err *err)
{
    static const char *const keys[] = {"vendor", "needs", NULL};
    struct berth_profile *profile = &reading->profile;

    if (node->kind != BERTH_NODE_MAP)
        return mismatch(node, "a section of vendor and needs", err);
    for (size_t i = 0; i < node->count; i++) {
        const struct berth_node *item = &node->items[i];
        struct berth_err why;
        int result;

        if (strcmp(item->key, "vendor") == 0)
            result = take_text(reading, item, berth_value_text, &profile->vendor, &why);
        else if (strcmp(item->key, "needs") == 0)
            result = take_list(reading, item, "match.needs", check_library,
                               &profile->needs, &why);
        else
            result = berth_suggest(item->key, keys, &why);
        if (result < 0)
            keep(reading, item->line, "match", &why);
    }
    return 0;
}

static int take_copy(struct reading *reading, const struct berth_node *node,
                     struct berth_data *ret, struct berth_err *err)
{
    const struct berth_node *from = NULL;
    const struct berth_node *to = NULL;

    if (node->kind == BERTH_NODE_MAP) {
        from = berth_node_find(node, "from");
        to = berth_node_find(node, "to");
    }
    if (!from || !to || node->count != 2)
        return berth_err_set(err, "expected a section of from and to");
    if (take_list(reading, from, "data.from", berth_value_text, &ret->places, err) < 0)
        return -1;
    return take_text(reading, to, check_inside, &ret->into, err);
}

static int take_data(struct reading *reading, const struct berth_node *node,
                     struct berth_err *err)
{
    struct berth_data *data;
    struct berth_err why;

    if (node->kind != BERTH_NODE_LIST)
        return mismatch(node, "a list", err);
    data = own(reading, calloc(node->count + 1, sizeof(*data)));
    for (size_t i = 0; data && i < node->count; i++)
        if (take_copy(reading, &node->items[i], &data[i], &why) < 0)
            keep(reading, node->items[i].line, "data", &why);
    reading->profile.data = data;
    return 0;
}

const char *const berth_profile_keys[] = {
    "name",        "stack", "family", "match.vendor", "match.needs", "libraries",
    "directories", "data",  "root",   "binds",        "devices",     NULL,
};

static int take_key(struct reading *reading, const struct berth_node *node,
                    struct berth_err *err)
{
    static const char *const keys[] = {"name",  "stack",   "family",      "match",
                                       "root",  "data",    "directories", "libraries",
                                       "binds", "devices", NULL};
    struct berth_profile *profile = &reading->profile;
    const struct {
        const char *key;
        const char **text;
        const char *const **list;
        rule *check;
    } plain[] = {
        {"name", &profile->name, NULL, check_name},
        {"stack", &profile->stack, NULL, check_name},
        {"root", &profile->root, NULL, berth_value_variable},
        {"libraries", NULL, &profile->names, check_library},
        {"directories", NULL, &profile->nearby, berth_value_text},
        {"binds", NULL, &profile->binds, berth_value_path},
        {"devices", NULL, &profile->devices, check_device},
    };

    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        if (strcmp(node->key, plain[i].key) == 0)
            return plain[i].text
                       ? take_text(reading, node, plain[i].check, plain[i].text, err)
                       : take_list(reading, node, node->key, plain[i].check,
                                   plain[i].list, err);
    if (strcmp(node->key, "family") == 0)
        return take_family(reading, node, err);
    if (strcmp(node->key, "match") == 0)
        return take_match(reading, node, err);
    if (strcmp(node->key, "data") == 0)
        return take_data(reading, node, err);
    return berth_suggest(node->key, keys, err);
}

/* What a profile cannot do without. */
static void check_whole(struct reading *reading, const struct berth_node *root)
{
    static const char *const needed[] = {"name", "family"};
    struct berth_err err;

    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
        if (!berth_node_find(root, needed[i])) {
            berth_err_set(&err, "not there; a profile has a name and a family");
            keep(reading, root->line, needed[i], &err);
        }
    for (size_t i = 0; reading->profile.name && i < reading->set->count; i++)
        if (strcmp(reading->set->items[i].name, reading->profile.name) == 0) {
            berth_err_set(&err, "'%s' has been read from another file; remove one",
                          reading->profile.name);
            keep(reading, root->line, "name", &err);
        }
    if (!reading->profile.stack)
        reading->profile.stack = reading->profile.name;
}

static void read_root(struct reading *reading, const struct berth_node *root)
{
    struct berth_err err;

    if (root->kind != BERTH_NODE_MAP) {
        mismatch(root, "KEY: VALUE lines", &err);
        keep(reading, root->line, "profile", &err);
        return;
    }
    for (size_t i = 0; i < root->count; i++)
        if (take_key(reading, &root->items[i], &err) < 0)
            keep(reading, root->items[i].line, root->items[i].key, &err);
    check_whole(reading, root);
}

static int push(struct berth_profile_set *set, const struct berth_profile *profile)
{
    struct berth_profile *more = realloc(set->items, (set->count + 2) * sizeof(*more));

    if (!more)
        return -1;
    set->items = more;
    more[set->count++] = *profile;
    more[set->count] = (struct berth_profile){0};
    return 0;
}

/* FNV-1a, 64 bits: which text it was. */
static char *label(const char *name, const char *bytes, size_t size)
{
    uint64_t hash = 14695981039346656037U;
    char *text = NULL;

    while (size--)
        hash = (hash ^ (unsigned char)*bytes++) * 1099511628211U;
    if (asprintf(&text, "%s:%016llx", name, (unsigned long long)hash) < 0)
        return NULL;
    return text;
}

int berth_profile_read(const char *file, const char *bytes, size_t size,
                       struct berth_profile_set *set, struct berth_strvec *faults,
                       struct berth_err *err)
{
    BERTH_NODE struct berth_node root = {0};
    struct reading reading = {.file = file, .set = set, .faults = faults};
    size_t before = faults->count;
    struct berth_err why;

    if (berth_syntax_read(file, bytes, size, &root, &why) < 0)
        berth_strvec_push(faults, why.text);
    else
        read_root(&reading, &root);
    if (!faults->failed && faults->count == before && !reading.failed) {
        reading.profile.label = own(&reading, label(reading.profile.name, bytes, size));
        reading.failed |= push(set, &reading.profile) < 0;
    }
    return faults->failed || reading.failed ? berth_err_oom(err) : 0;
}

static bool has(const struct berth_profile_set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->items[i].name, name) == 0)
            return true;
    return false;
}

int berth_profile_complete(struct berth_profile_set *set, struct berth_err *err)
{
    for (const struct berth_profile *it = berth_profiles(); it->name; it++)
        if (!has(set, it->name) && push(set, it) < 0)
            return berth_err_oom(err);
    return 0;
}

void berth_profile_set_fini(struct berth_profile_set *set)
{
    for (size_t i = 0; i < set->owned_count; i++)
        free(set->owned[i]);
    free(set->owned);
    free(set->items);
    *set = (struct berth_profile_set){0};
}
