/* SPDX-License-Identifier: Apache-2.0 */
/* What each key of berth.yaml makes of a site. */

#include "conf/schema.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "conf/suggest.h"
#include "conf/syntax.h"
#include "conf/values.h"

#define FIELD(name) offsetof(struct berth_site, name)
#define WORDS(...)  ((const char *const[]){__VA_ARGS__, NULL})

const struct berth_key berth_keys[] = {
    {"runtime.path", "apptainer or singularity, wherever the node has it",
     "the container runtime", BERTH_SHAPE_VALUE, berth_value_path, NULL,
     FIELD(runtime.path), 0, 0},
    {"runtime.args", "[]", "words for every start of the runtime", BERTH_SHAPE_LIST,
     berth_value_text, NULL, FIELD(runtime.args), 0, 0},
    {"runtime.share", "auto", "do the tasks of a node share one container",
     BERTH_SHAPE_CHOICE, NULL, WORDS("auto", "never"), FIELD(runtime.share), 0, 0},
    {"runtime.start_timeout", "60", "seconds that a container may take to start",
     BERTH_SHAPE_SECONDS, NULL, NULL, FIELD(runtime.start_timeout), 0, 0},
    {"runtime.raw_args", "allow", "may users give --container-args",
     BERTH_SHAPE_CHOICE_OR_LIST, berth_value_text, WORDS("allow", "deny"),
     FIELD(runtime.raw), FIELD(runtime.allowed), 0},
    {"images.roots", "[]", "directories of which images may come", BERTH_SHAPE_LIST,
     berth_value_path, NULL, FIELD(images.roots), 0, 0},
    {"images.uris", "every URI", "beginnings of URIs from which images may come",
     BERTH_SHAPE_LIST, berth_value_uri, NULL, FIELD(images.uris), 0,
     FIELD(images.uris_said)},
    {"images.owners", "[]", "users to whom an image may belong", BERTH_SHAPE_LIST,
     berth_value_user, NULL, FIELD(images.owners), 0, 0},
    {"images.signatures", "[]", "keys that have signed an image, and no others have",
     BERTH_SHAPE_LIST, berth_value_fingerprint, NULL, FIELD(images.signatures), 0, 0},
    {"images.cache", "the user's own", "directory of the images that are pulled",
     BERTH_SHAPE_VALUE, berth_value_cache, NULL, FIELD(images.cache), 0, 0},
    {"mounts.forced", "[]", "mounts in every container", BERTH_SHAPE_LIST,
     berth_value_mount, NULL, FIELD(mounts.forced), 0, 0},
    {"mounts.default", "[]", "mounts where the user mounts nothing else there",
     BERTH_SHAPE_LIST, berth_value_mount, NULL, FIELD(mounts.defaults), 0, 0},
    {"mounts.forbidden", "[]", "paths that no user's mount touches", BERTH_SHAPE_LIST,
     berth_value_path, NULL, FIELD(mounts.forbidden), 0, 0},
    {"environment.capture", "[]", "variables that tasks get under --export=NONE",
     BERTH_SHAPE_LIST, berth_value_pattern, NULL, FIELD(environment.capture), 0, 0},
    {"environment.deny", "[]", "variables that they do not get", BERTH_SHAPE_LIST,
     berth_value_pattern, NULL, FIELD(environment.deny), 0, 0},
    {"environment.set", "[]", "variables of every container, NAME=VALUE",
     BERTH_SHAPE_LIST, berth_value_assignment, NULL, FIELD(environment.set), 0, 0},
    {"environment.unset", "[]", "variables of no container", BERTH_SHAPE_LIST,
     berth_value_variable, NULL, FIELD(environment.unset), 0, 0},
    {"mpi.default", "off", "--mpi-bind where the user does not say it",
     BERTH_SHAPE_VALUE, berth_value_mode, NULL, FIELD(mpi.mode), 0, 0},
    {"mpi.order", "[]", "the host's MPI stacks, the preferred first", BERTH_SHAPE_LIST,
     berth_value_mode, NULL, FIELD(mpi.order), 0, 0},
    {"mpi.partitions", "{}", "mpi.default of a partition, PARTITION: MODE",
     BERTH_SHAPE_PAIRS, berth_value_mode, NULL, FIELD(mpi.partitions), 0, 0},
    {"mpi.glibc", "replace",
     "where the image's C library is too old for the host's MPI", BERTH_SHAPE_CHOICE,
     NULL, WORDS("replace", "refuse"), FIELD(mpi.glibc), 0, 0},
    {"rules", "[]", "options that go over the user's, by partition and account",
     BERTH_SHAPE_RULES, berth_value_text, NULL, FIELD(rules), 0, 0},
    {"provenance.file", "none", "file that gets a line of JSON for each step",
     BERTH_SHAPE_VALUE, berth_value_path, NULL, FIELD(provenance.file), 0, 0},
    {"provenance.digest", "none", "digest of the image in that line",
     BERTH_SHAPE_CHOICE, NULL, WORDS("none", "sha256"), FIELD(provenance.digest), 0, 0},
    {"provenance.comment", "false", "the images in the job's comment", BERTH_SHAPE_FLAG,
     NULL, NULL, FIELD(provenance.comment), 0, 0},
    {"profiles_dir", "profiles.d beside the file", "directory of MPI profiles",
     BERTH_SHAPE_VALUE, berth_value_path, NULL, FIELD(profiles_dir), 0, 0},
    {0},
};

enum { LONGEST_START = 86400 };

static int take_value(const struct berth_reading *reading, const struct berth_key *key,
                      const struct berth_node *node, struct berth_err *err)
{
    char **value = berth_reading_field(reading, key->field);

    if (berth_reading_check(key, node, err) < 0)
        return -1;
    *value = strdup(node->text);
    return *value ? 0 : berth_err_oom(err);
}

static void push_item(const struct berth_reading *reading, const struct berth_key *key,
                      const struct berth_node *item, struct berth_strvec *list)
{
    berth_strvec_push(list, item->text);
    berth_site_note(reading->into, key->path, item->text, reading->file, item->line);
}

/* A fault of one item does not hide those of others. */
static int take_items(const struct berth_reading *reading, const struct berth_key *key,
                      const struct berth_node *node, struct berth_strvec *list)
{
    struct berth_err err;

    for (size_t i = 0; i < node->count; i++)
        if (berth_reading_check(key, &node->items[i], &err) < 0)
            berth_reading_keep(reading, node->items[i].line, key->path, &err);
        else
            push_item(reading, key, &node->items[i], list);
    return 0;
}

static int take_list(const struct berth_reading *reading, const struct berth_key *key,
                     const struct berth_node *node, struct berth_err *err)
{
    if (node->kind != BERTH_NODE_LIST)
        return berth_reading_mismatch(node, "a list", err);
    if (key->said)
        *(bool *)berth_reading_field(reading, key->said) = true;
    return take_items(reading, key, node, berth_reading_field(reading, key->field));
}

static int take_pairs(const struct berth_reading *reading, const struct berth_key *key,
                      const struct berth_node *node, struct berth_err *err)
{
    struct berth_strvec *pairs = berth_reading_field(reading, key->field);
    struct berth_err why;

    if (node->kind != BERTH_NODE_MAP)
        return berth_reading_mismatch(node, "NAME: VALUE lines", err);
    for (size_t i = 0; i < node->count; i++) {
        const struct berth_node *item = &node->items[i];

        if (berth_reading_check(key, item, &why) < 0) {
            berth_reading_keep(reading, item->line, key->path, &why);
            continue;
        }
        berth_strvec_push(pairs, item->key);
        berth_strvec_push(pairs, item->text);
    }
    return 0;
}

static int take_choice(const struct berth_reading *reading, const struct berth_key *key,
                       const struct berth_node *node, struct berth_err *err)
{
    return berth_reading_choose(key, node, berth_reading_field(reading, key->field),
                                err);
}

static int take_choice_or_list(const struct berth_reading *reading,
                               const struct berth_key *key,
                               const struct berth_node *node, struct berth_err *err)
{
    if (node->kind != BERTH_NODE_LIST)
        return take_choice(reading, key, node, err);
    *(unsigned int *)berth_reading_field(reading, key->field) = BERTH_RAW_LIST;
    return take_items(reading, key, node, berth_reading_field(reading, key->list));
}

static int take_seconds(const struct berth_reading *reading,
                        const struct berth_key *key, const struct berth_node *node,
                        struct berth_err *err)
{
    const char *text = node->kind == BERTH_NODE_SCALAR ? node->text : "";
    char *end;
    long seconds = strtol(text, &end, 10);

    if (!isdigit((unsigned char)*text) || *end || seconds < 1 ||
        seconds > LONGEST_START)
        return berth_reading_mismatch(node, "1 to 86400 seconds", err);
    *(unsigned int *)berth_reading_field(reading, key->field) = (unsigned int)seconds;
    return 0;
}

static int take_flag(const struct berth_reading *reading, const struct berth_key *key,
                     const struct berth_node *node, struct berth_err *err)
{
    const char *text = node->kind == BERTH_NODE_SCALAR ? node->text : "";

    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return berth_reading_mismatch(node, "true or false", err);
    *(bool *)berth_reading_field(reading, key->field) = strcmp(text, "true") == 0;
    return 0;
}

/* The options of a rule: NAME: VALUE, `true` for one without a value. */
static int take_options(const struct berth_node *node, struct berth_strvec *options,
                        struct berth_err *err)
{
    if (node->kind != BERTH_NODE_MAP || node->count == 0)
        return berth_reading_mismatch(node, "options: NAME: VALUE lines", err);
    for (size_t i = 0; i < node->count; i++) {
        const struct berth_node *item = &node->items[i];

        if (item->kind != BERTH_NODE_SCALAR)
            return berth_reading_mismatch(item, "one value for an option", err);
        berth_strvec_push(options, item->key);
        berth_strvec_push(options, !item->quoted && strcmp(item->text, "true") == 0
                                       ? ""
                                       : item->text);
    }
    return 0;
}

static int take_rule_text(const struct berth_node *node, char **ret,
                          struct berth_err *err)
{
    if (node->kind != BERTH_NODE_SCALAR)
        return berth_reading_mismatch(node, "one name", err);
    if (berth_value_text(node->text, err) < 0)
        return -1;
    *ret = strdup(node->text);
    return *ret ? 0 : berth_err_oom(err);
}

static int take_rule_key(const struct berth_node *node, struct berth_site_rule *rule,
                         struct berth_err *err)
{
    static const char *const keys[] = {"partition", "account", "options", NULL};

    if (strcmp(node->key, "partition") == 0)
        return take_rule_text(node, &rule->partition, err);
    if (strcmp(node->key, "account") == 0)
        return take_rule_text(node, &rule->account, err);
    if (strcmp(node->key, "options") == 0)
        return take_options(node, &rule->options, err);
    return berth_suggest(node->key, keys, err);
}

static void take_rule(const struct berth_reading *reading,
                      const struct berth_node *node, struct berth_site_rule *rule)
{
    struct berth_err err;

    if (node->kind != BERTH_NODE_MAP) {
        berth_reading_mismatch(node, "a section of partition, account and options",
                               &err);
        berth_reading_keep(reading, node->line, "rules", &err);
        return;
    }
    for (size_t i = 0; i < node->count; i++)
        if (take_rule_key(&node->items[i], rule, &err) < 0)
            berth_reading_keep(reading, node->items[i].line, "rules", &err);
    if (!berth_node_find(node, "options")) {
        berth_err_set(&err, "a rule without options; add them, or leave it out");
        berth_reading_keep(reading, node->line, "rules", &err);
    }
}

static int take_rules(const struct berth_reading *reading, const struct berth_key *key,
                      const struct berth_node *node, struct berth_err *err)
{
    struct berth_site *site = ((struct berth_site *)reading->into);

    if (node->kind != BERTH_NODE_LIST)
        return berth_reading_mismatch(node, "a list", err);
    site->rules = calloc(node->count + 1, sizeof(*site->rules));
    if (!site->rules)
        return berth_err_oom(err);
    for (size_t i = 0; i < node->count; i++) {
        char number[24];

        take_rule(reading, &node->items[i], &site->rules[site->rule_count++]);
        snprintf(number, sizeof(number), "%zu", site->rule_count);
        berth_site_note(site, key->path, number, reading->file, node->items[i].line);
    }
    return 0;
}

static int take(const struct berth_reading *reading, const struct berth_key *key,
                const struct berth_node *node, struct berth_err *err)
{
    berth_site_note(reading->into, key->path, "", reading->file, node->line);
    switch (key->shape) {
    case BERTH_SHAPE_VALUE:
        return take_value(reading, key, node, err);
    case BERTH_SHAPE_LIST:
        return take_list(reading, key, node, err);
    case BERTH_SHAPE_PAIRS:
        return take_pairs(reading, key, node, err);
    case BERTH_SHAPE_CHOICE:
        return take_choice(reading, key, node, err);
    case BERTH_SHAPE_CHOICE_OR_LIST:
        return take_choice_or_list(reading, key, node, err);
    case BERTH_SHAPE_SECONDS:
        return take_seconds(reading, key, node, err);
    case BERTH_SHAPE_FLAG:
        return take_flag(reading, key, node, err);
    default:
        return take_rules(reading, key, node, err);
    }
}

static bool list_failed(const struct berth_site *site)
{
    for (const struct berth_key *key = berth_keys; key->path; key++) {
        const char *base = (const char *)site;
        size_t at = key->shape == BERTH_SHAPE_CHOICE_OR_LIST ? key->list : key->field;

        if ((key->shape == BERTH_SHAPE_LIST || key->shape == BERTH_SHAPE_PAIRS ||
             key->shape == BERTH_SHAPE_CHOICE_OR_LIST) &&
            ((const struct berth_strvec *)(base + at))->failed)
            return true;
    }
    for (size_t i = 0; i < site->rule_count; i++)
        if (site->rules[i].options.failed)
            return true;
    return false;
}

int berth_schema_read(const char *file, const char *bytes, size_t size,
                      struct berth_site *ret, struct berth_strvec *faults,
                      struct berth_err *err)
{
    BERTH_NODE struct berth_node root = {0};
    struct berth_site site = berth_site_default();
    const struct berth_reading reading = {file, berth_keys, take, &site, faults};

    berth_reading_read(&reading, bytes, size, &root);
    if (faults->failed || site.places.failed || list_failed(&site)) {
        berth_site_fini(&site);
        return berth_err_oom(err);
    }
    *ret = site;
    return 0;
}
