/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a profile from a file of profiles.d by a table of keys. mpi/profile.h says what
 * a profile means. */

#include "site/profiles.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/text.h"
#include "request/request.h"
#include "request/values.h"

/* The profile that is read. */
struct draft {
    struct berth_profile profile;
    struct berth_profile_set *set;
    bool failed; /* out of memory */
};

/* Gives BLOCK to the set, which frees it later. Returns BLOCK; NULL: out of memory. */
static void *own(struct draft *draft, void *block)
{
    void *given = block;

    if (block && berth_append(&draft->set->owned, &given) == 0)
        return block;
    free(block);
    draft->failed = true;
    return NULL;
}

static int check_name(const char *text, struct berth_err *err)
{
    if (berth_mode_of(text) != BERTH_MODE_NAME)
        return berth_err_expected(err, "a name that is not a mode of --mpi-bind", text);
    if (!berth_mode_is_word(text))
        return berth_err_expected(err, "small letters, digits and -", text);
    return 0;
}

/* Accepts a SONAME, or a pattern for SONAMEs. */
static int check_library(const char *text, struct berth_err *err)
{
    if (!*text || strchr(text, '/'))
        return berth_err_expected(err, "the SONAME of a library", text);
    return 0;
}

/* Accepts a path that stays below the stage. */
static int check_inside(const char *text, struct berth_err *err)
{
    static const char expected[] = "a path below the stage";
    BERTH_FREE char *path = NULL;

    if (!*text || *text == '/')
        return berth_err_expected(err, expected, text);
    if (asprintf(&path, "/%s", text) < 0) {
        path = NULL;
        return berth_err_oom(err);
    }
    if (berth_value_path(path, err) < 0)
        return berth_err_expected(err, expected, text);
    return 0;
}

static int check_device(const char *text, struct berth_err *err)
{
    if (berth_text_starts(text, "/dev/"))
        return berth_value_path(text, err);
    return berth_err_expected(err, "a path of /dev", text);
}

/* Accepts NAME, or NAME=VALUE with * for any text. */
static int check_setting(const char *text, struct berth_err *err)
{
    if (strchr(text, '='))
        return berth_value_assignment(text, err);
    return berth_value_variable(text, err);
}

static int copy_text(const struct berth_reading *reading, const struct berth_key *key,
                     const struct berth_node *node, const char **ret,
                     struct berth_err *err)
{
    if (berth_reading_check(key, node, err) < 0)
        return -1;
    *ret = own(reading->into, strdup(node->text));
    return 0;
}

static int take_text(const struct berth_reading *reading, const struct berth_key *key,
                     const struct berth_node *node, struct berth_err *err)
{
    return copy_text(reading, key, node, berth_reading_field(reading, key->field), err);
}

/* An empty list is right, and leaves *RET NULL. */
static int copy_list(const struct berth_reading *reading, const struct berth_key *key,
                     const struct berth_node *node, const char *const **ret,
                     struct berth_err *err)
{
    struct berth_strvec list = {0};

    if (berth_reading_list(reading, key, node, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.count; i++)
        own(reading->into, list.items[i]);
    *ret = NULL;
    if (list.items)
        *ret = own(reading->into, list.items);
    return 0;
}

static int take_list(const struct berth_reading *reading, const struct berth_key *key,
                     const struct berth_node *node, struct berth_err *err)
{
    return copy_list(reading, key, node, berth_reading_field(reading, key->field), err);
}

/* Takes NODE, `from: [PLACE, ...]` and `to: PATH`. */
static int take_copy(const struct berth_reading *reading, const char *path,
                     const struct berth_node *node, struct berth_data *ret,
                     struct berth_err *err)
{
    const struct berth_key places = {.path = path, .check = berth_value_text};
    const struct berth_key into = {.path = path, .check = check_inside};
    const struct berth_node *from = NULL;
    const struct berth_node *to = NULL;

    if (node->kind == BERTH_NODE_MAP) {
        from = berth_node_find(node, "from");
        to = berth_node_find(node, "to");
    }
    if (!from || !to || node->count != 2 || from->count == 0)
        return berth_reading_mismatch(node, "a section of from, a list, and to", err);
    if (copy_list(reading, &places, from, &ret->places, err) < 0)
        return -1;
    return copy_text(reading, &into, to, &ret->into, err);
}

static int take_copies(const struct berth_reading *reading, const struct berth_key *key,
                       const struct berth_node *node, struct berth_err *err)
{
    struct berth_data *copies;
    struct berth_err why;

    if (node->kind != BERTH_NODE_LIST)
        return berth_reading_mismatch(node, "a list", err);
    copies = own(reading->into, calloc(node->count + 1, sizeof(*copies)));
    for (size_t i = 0; copies && i < node->count; i++)
        if (take_copy(reading, key->path, &node->items[i], &copies[i], &why) < 0)
            berth_reading_add_error(reading, node->items[i].line, key->path, &why);
    *(const struct berth_data **)berth_reading_field(reading, key->field) = copies;
    return 0;
}

#define FIELD(name) offsetof(struct draft, profile.name)

const struct berth_key berth_profile_keys[] = {
    {"name", take_text, check_name, NULL, FIELD(name)},
    {"stack", take_text, check_name, NULL, FIELD(stack)},
    {"family", berth_reading_choice, NULL, BERTH_FAMILY_WORDS, FIELD(family)},
    {"adds", take_list, check_library, NULL, FIELD(adds)},
    {"replaces", take_list, check_library, NULL, FIELD(replaces)},
    {"prefix", take_text, berth_value_path, NULL, FIELD(prefix)},
    {"match.vendor", take_text, berth_value_text, NULL, FIELD(vendor)},
    {"match.needs", take_list, check_library, NULL, FIELD(needs)},
    {"libraries", take_list, check_library, NULL, FIELD(names)},
    {"directories", take_list, berth_value_text, NULL, FIELD(nearby)},
    {"plugins", take_copies, NULL, NULL, FIELD(plugins)},
    {"data", take_copies, NULL, NULL, FIELD(data)},
    {"root", take_text, berth_value_variable, NULL, FIELD(root)},
    {"environment", take_list, berth_value_assignment, NULL, FIELD(environment)},
    {"binds", take_list, berth_value_mount, NULL, FIELD(binds)},
    {"devices", take_list, check_device, NULL, FIELD(devices)},
    {"conflicts.variables", take_list, check_setting, NULL, FIELD(conflicts.variables)},
    {"conflicts.libraries", take_list, check_library, NULL, FIELD(conflicts.libraries)},
    /* After `binds`, so that `binds` is suggested for `bind`. */
    {"kind", berth_reading_choice, NULL, "mpi|fabric|libraries", FIELD(kind)},
    {0},
};

static bool has(const struct berth_profile_set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->items[i].name, name) == 0)
            return true;
    return false;
}

/* The key that says what PROFILE is for, and that it must have. */
static const char *main_key(const struct berth_profile *profile)
{
    if (profile->kind == BERTH_PROFILE_MPI)
        return "family";
    return profile->adds ? "adds" : "replaces";
}

/* Reports that ROOT does not have KEY, a key of each profile like PROFILE. */
static void require(const struct berth_reading *reading, const struct berth_node *root,
                    const struct berth_profile *profile, const char *key)
{
    const char *what = "a list of what it replaces or adds";
    struct berth_err err;

    if (berth_node_find(root, key))
        return;
    if (profile->kind == BERTH_PROFILE_MPI)
        what = "a family";
    berth_err_set(&err, "not there; a profile has a name and %s", what);
    berth_reading_add_error(reading, root->line, key, &err);
}

/* Reports missing keys, and a name that another file has. */
static void check_whole(const struct berth_reading *reading,
                        const struct berth_node *root)
{
    struct draft *draft = reading->into;
    struct berth_profile *profile = &draft->profile;

    require(reading, root, profile, "name");
    require(reading, root, profile, main_key(profile));
    if (profile->name && has(draft->set, profile->name)) {
        struct berth_err err;

        berth_err_set(&err, "'%s' has been read from another file; remove one",
                      profile->name);
        berth_reading_add_error(reading, root->line, "name", &err);
    }
}

static int push(struct berth_profile_set *set, const struct berth_profile *profile)
{
    if (berth_grow(&set->items, set->count + 1, &set->room, sizeof(*profile)) < 0)
        return -1;
    set->items[set->count++] = *profile;
    set->items[set->count] = (struct berth_profile){0};
    return 0;
}

/* A label that changes with the text of the profile. */
static char *label(const char *name, const char *bytes, size_t size)
{
    uint64_t hash = berth_hash(BERTH_HASH_START, bytes, size);
    char *text = NULL;

    if (asprintf(&text, "%s:%016llx", name, (unsigned long long)hash) < 0)
        return NULL;
    return text;
}

int berth_profile_read(const char *file, const char *bytes, size_t size,
                       struct berth_profile_set *set, struct berth_strvec *errors,
                       struct berth_err *err)
{
    BERTH_NODE struct berth_node root = {0};
    struct draft draft = {.set = set};
    const struct berth_reading reading = {
        file, berth_profile_keys, NULL, &draft, errors,
    };
    size_t before = errors->count;

    berth_reading_read(&reading, bytes, size, &root);

    /* What is missing in a file that is not YAML helps nobody. */
    if (root.kind == BERTH_NODE_MAP || errors->count == before)
        check_whole(&reading, &root);
    if (errors->failed || draft.failed)
        return berth_err_oom(err);
    if (errors->count > before)
        return 0;

    if (!draft.profile.stack)
        draft.profile.stack = draft.profile.name;
    draft.profile.label = own(&draft, label(draft.profile.name, bytes, size));
    if (draft.failed || push(set, &draft.profile) < 0)
        return berth_err_oom(err);
    return 0;
}

int berth_profile_complete(struct berth_profile_set *set, struct berth_err *err)
{
    for (const struct berth_profile *it = berth_profiles; it->name; it++)
        if (!has(set, it->name) && push(set, it) < 0)
            return berth_err_oom(err);
    return 0;
}

void berth_profile_set_fini(struct berth_profile_set *set)
{
    for (size_t i = 0; i < set->owned.count; i++)
        free(set->owned.items[i]);
    free(set->owned.items);
    free(set->items);
    *set = (struct berth_profile_set){0};
}
