/* SPDX-License-Identifier: Apache-2.0 */
/* From the tree of berth.yaml to the values of a site. Knows every key, and of YAML
 * only the tree. */

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

struct reading {
    const char *file;
    struct berth_site *site;
    struct berth_strvec *faults;
};

/* Keep what ERR says of what PATH ("": the file) has on LINE. */
static void keep(struct reading *reading, unsigned int line, const char *path,
                 struct berth_err *err)
{
    berth_err_at(err, *path ? "%s:%u: %s" : "%s:%u", reading->file, line, path);
    berth_strvec_push(reading->faults, err->text);
}

/* NODE is something else than the key wants. */
static int mismatch(const struct berth_node *node, const char *expected,
                    struct berth_err *err)
{
    if (node->kind == BERTH_NODE_SCALAR)
        return berth_err_set(err, "expected %s, got '%s'", expected, node->text);
    return berth_err_set(err, "expected %s, got %s", expected,
                         node->kind == BERTH_NODE_LIST ? "a list" : "a section");
}

static void *field(const struct reading *reading, size_t offset)
{
    return (char *)reading->site + offset;
}

static int check_scalar(const struct berth_key *key, const struct berth_node *node,
                        struct berth_err *err)
{
    return node->kind == BERTH_NODE_SCALAR ? key->check(node->text, err)
                                           : mismatch(node, "one value", err);
}

static int take_value(struct reading *reading, const struct berth_key *key,
                      const struct berth_node *node, struct berth_err *err)
{
    char **value = field(reading, key->field);

    if (check_scalar(key, node, err) < 0)
        return -1;
    *value = strdup(node->text);
    return *value ? 0 : berth_err_oom(err);
}

/* A fault of one item does not hide those of others. */
static int take_items(struct reading *reading, const struct berth_key *key,
                      const struct berth_node *node, struct berth_strvec *list)
{
    struct berth_err err;

    for (size_t i = 0; i < node->count; i++)
        if (check_scalar(key, &node->items[i], &err) < 0)
            keep(reading, node->items[i].line, key->path, &err);
        else
            berth_strvec_push(list, node->items[i].text);
    return 0;
}

static int take_list(struct reading *reading, const struct berth_key *key,
                     const struct berth_node *node, struct berth_err *err)
{
    if (node->kind != BERTH_NODE_LIST)
        return mismatch(node, "a list", err);
    if (key->said)
        *(bool *)field(reading, key->said) = true;
    return take_items(reading, key, node, field(reading, key->field));
}

static int take_pairs(struct reading *reading, const struct berth_key *key,
                      const struct berth_node *node, struct berth_err *err)
{
    struct berth_strvec *pairs = field(reading, key->field);
    struct berth_err why;

    if (node->kind != BERTH_NODE_MAP)
        return mismatch(node, "NAME: VALUE lines", err);
    for (size_t i = 0; i < node->count; i++) {
        const struct berth_node *item = &node->items[i];

        if (check_scalar(key, item, &why) < 0) {
            keep(reading, item->line, key->path, &why);
            continue;
        }
        berth_strvec_push(pairs, item->key);
        berth_strvec_push(pairs, item->text);
    }
    return 0;
}

static int take_choice(struct reading *reading, const struct berth_key *key,
                       const struct berth_node *node, struct berth_err *err)
{
    unsigned int at = 0;
    char expected[64];

    for (; key->words[at]; at++)
        if (node->kind == BERTH_NODE_SCALAR && strcmp(node->text, key->words[at]) == 0)
            break;
    if (key->words[at]) {
        *(unsigned int *)field(reading, key->field) = at;
        return 0;
    }
    snprintf(expected, sizeof(expected), "%s or %s%s", key->words[0], key->words[1],
             key->list ? ", or a list of patterns" : "");
    return mismatch(node, expected, err);
}

static int take_choice_or_list(struct reading *reading, const struct berth_key *key,
                               const struct berth_node *node, struct berth_err *err)
{
    if (node->kind != BERTH_NODE_LIST)
        return take_choice(reading, key, node, err);
    *(unsigned int *)field(reading, key->field) = BERTH_RAW_LIST;
    return take_items(reading, key, node, field(reading, key->list));
}

static int take_seconds(struct reading *reading, const struct berth_key *key,
                        const struct berth_node *node, struct berth_err *err)
{
    const char *text = node->kind == BERTH_NODE_SCALAR ? node->text : "";
    char *end;
    long seconds = strtol(text, &end, 10);

    if (!isdigit((unsigned char)*text) || *end || seconds < 1 ||
        seconds > LONGEST_START)
        return mismatch(node, "1 to 86400 seconds", err);
    *(unsigned int *)field(reading, key->field) = (unsigned int)seconds;
    return 0;
}

static int take_flag(struct reading *reading, const struct berth_key *key,
                     const struct berth_node *node, struct berth_err *err)
{
    const char *text = node->kind == BERTH_NODE_SCALAR ? node->text : "";

    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return mismatch(node, "true or false", err);
    *(bool *)field(reading, key->field) = strcmp(text, "true") == 0;
    return 0;
}

/* The options of a rule: NAME: VALUE, `true` for one without a value. */
static int take_options(const struct berth_node *node, struct berth_strvec *options,
                        struct berth_err *err)
{
    if (node->kind != BERTH_NODE_MAP || node->count == 0)
        return mismatch(node, "options: NAME: VALUE lines", err);
    for (size_t i = 0; i < node->count; i++) {
        const struct berth_node *item = &node->items[i];

        if (item->kind != BERTH_NODE_SCALAR)
            return mismatch(item, "one value for an option", err);
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
        return mismatch(node, "one name", err);
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

static void take_rule(struct reading *reading, const struct berth_node *node,
                      struct berth_site_rule *rule)
{
    struct berth_err err;

    if (node->kind != BERTH_NODE_MAP) {
        mismatch(node, "a section of partition, account and options", &err);
        keep(reading, node->line, "rules", &err);
        return;
    }
    for (size_t i = 0; i < node->count; i++)
        if (take_rule_key(&node->items[i], rule, &err) < 0)
            keep(reading, node->items[i].line, "rules", &err);
    if (!berth_node_find(node, "options")) {
        berth_err_set(&err, "a rule without options; add them, or leave it out");
        keep(reading, node->line, "rules", &err);
    }
}

static int take_rules(struct reading *reading, const struct berth_node *node,
                      struct berth_err *err)
{
    struct berth_site *site = reading->site;

    if (node->kind != BERTH_NODE_LIST)
        return mismatch(node, "a list", err);
    site->rules = calloc(node->count + 1, sizeof(*site->rules));
    if (!site->rules)
        return berth_err_oom(err);
    for (size_t i = 0; i < node->count; i++)
        take_rule(reading, &node->items[i], &site->rules[site->rule_count++]);
    return 0;
}

static int take(struct reading *reading, const struct berth_key *key,
                const struct berth_node *node, struct berth_err *err)
{
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
        return take_rules(reading, node, err);
    }
}

/* Does the key PATH start with the LENGTH bytes of SECTION? "" and 0: any does. */
static bool is_below(const char *path, const char *section, size_t length)
{
    return strncmp(path, section, length) == 0 && (length == 0 || path[length] == '.');
}

static const struct berth_key *find_key(const char *path)
{
    const struct berth_key *key = berth_keys;

    while (key->path && strcmp(key->path, path) != 0)
        key++;
    return key->path ? key : NULL;
}

/* Nobody has the key NAME of SECTION; say which one it may be. */
static int unknown(const char *section, const char *name, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec names = {0};
    size_t length = strlen(section);
    const char *dot = strchr(name, '.');

    if (dot && find_key(name))
        return berth_err_set(err,
                             "'%s' is no key here; write it as %s: below %.*s:", name,
                             dot + 1, (int)(dot - name), name);

    for (const struct berth_key *key = berth_keys; key->path; key++) {
        const char *rest = key->path + (length ? length + 1 : 0);

        if (!is_below(key->path, section, length))
            continue;
        if (names.count &&
            strncmp(names.items[names.count - 1], rest, strcspn(rest, ".")) == 0)
            continue;
        berth_strvec_pushf(&names, "%.*s", (int)strcspn(rest, "."), rest);
    }
    if (names.failed || !names.count)
        return berth_err_oom(err);
    return berth_suggest(name, (const char *const *)names.items, err);
}

static bool is_section(const char *name)
{
    for (const struct berth_key *key = berth_keys; key->path; key++)
        if (is_below(key->path, name, strlen(name)) && *name)
            return true;
    return false;
}

/* NODE is a value of SECTION ("": of none). */
static void read_key(struct reading *reading, const char *section,
                     const struct berth_node *node)
{
    BERTH_BUF struct berth_buf path = {0};
    const struct berth_key *key;
    struct berth_err err;

    berth_buf_puts(&path, section);
    berth_buf_puts(&path, *section ? "." : "");
    berth_buf_puts(&path, node->key);
    key = path.text && !path.failed && !strchr(node->key, '.') ? find_key(path.text)
                                                               : NULL;
    if (!key) {
        unknown(section, node->key, &err);
        keep(reading, node->line, section, &err);
    } else if (take(reading, key, node, &err) < 0) {
        keep(reading, node->line, key->path, &err);
    }
}

static void read_section(struct reading *reading, const struct berth_node *node)
{
    struct berth_err err;

    if (berth_node_is_empty(node)) /* all its keys are commented out */
        return;
    if (node->kind != BERTH_NODE_MAP) {
        mismatch(node, "a section of KEY: VALUE lines", &err);
        keep(reading, node->line, node->key, &err);
        return;
    }
    for (size_t i = 0; i < node->count; i++)
        read_key(reading, node->key, &node->items[i]);
}

static void read_root(struct reading *reading, const struct berth_node *root)
{
    struct berth_err err;

    if (berth_node_is_empty(root))
        return;
    if (root->kind != BERTH_NODE_MAP) {
        mismatch(root, "sections of KEY: VALUE lines", &err);
        keep(reading, root->line, "", &err);
        return;
    }
    for (size_t i = 0; i < root->count; i++)
        if (is_section(root->items[i].key))
            read_section(reading, &root->items[i]);
        else
            read_key(reading, "", &root->items[i]);
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
    struct reading reading = {.file = file, .site = &site, .faults = faults};
    struct berth_err why;

    if (berth_syntax_read(file, bytes, size, &root, &why) < 0)
        berth_strvec_push(faults, why.text);
    else
        read_root(&reading, &root);
    if (faults->failed || list_failed(&site)) {
        berth_site_fini(&site);
        return berth_err_oom(err);
    }
    *ret = site;
    return 0;
}
