/* SPDX-License-Identifier: Apache-2.0 */
/* Reads berth.yaml into a site by a table of keys. */

#include "site/siteread.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/choice.h"
#include "base/suggest.h"
#include "site/reading.h"
#include "site/rules.h"
#include "site/syntax.h"
#include "site/terms.h"
#include "request/values.h"

enum { LONGEST_START = 86400 };

static int parse_value(const struct berth_reading *reading, const struct berth_key *key,
                       const struct berth_node *node, struct berth_err *err)
{
    char **value = berth_reading_field(reading, key->field);

    if (berth_reading_check(key, node, err) < 0)
        return -1;
    *value = strdup(node->text);
    return berth_err_oom_if(!*value, err);
}

static int parse_list(const struct berth_reading *reading, const struct berth_key *key,
                      const struct berth_node *node, struct berth_err *err)
{
    return berth_reading_list(reading, key, node,
                              berth_reading_field(reading, key->field), err);
}

static int parse_uris(const struct berth_reading *reading, const struct berth_key *key,
                      const struct berth_node *node, struct berth_err *err)
{
    struct berth_site *site = reading->into;
    unsigned int none;

    site->images.has_uris = true;
    if (node->kind == BERTH_NODE_LIST)
        return parse_list(reading, key, node, err);
    return berth_reading_find_word(key, node, &none, err);
}

/* Accepts NAME=VALUE, or a variable whose value berth knows. */
static int check_pytorch(const char *text, struct berth_err *err)
{
    if (strchr(text, '='))
        return berth_value_assignment(text, err);
    for (const char *const *name = berth_terms_pytorch; *name; name++)
        if (strcmp(*name, text) == 0)
            return 0;
    return berth_suggest(text, "NAME=VALUE or a variable that berth sets for PyTorch",
                         berth_terms_pytorch, err);
}

static int parse_pytorch(const struct berth_reading *reading,
                         const struct berth_key *key, const struct berth_node *node,
                         struct berth_err *err)
{
    struct berth_site *site = reading->into;
    struct berth_strvec *list = &site->environment.pytorch;
    bool is_list = node->kind == BERTH_NODE_LIST;
    bool is_none = node->kind == BERTH_NODE_SCALAR &&
                   strcmp(node->text, BERTH_TERMS_NO_PYTORCH) == 0;

    if (!is_list && !is_none)
        return berth_reading_mismatch(node, BERTH_TERMS_NO_PYTORCH " or a list", err);
    if (is_list && node->count > 0)
        return parse_list(reading, key, node, err);

    /* an empty list in the site's terms means all */
    berth_strvec_push(list, BERTH_TERMS_NO_PYTORCH);
    return berth_err_oom_if(list->failed, err);
}

static int parse_raw_args(const struct berth_reading *reading,
                          const struct berth_key *key, const struct berth_node *node,
                          struct berth_err *err)
{
    struct berth_site *site = reading->into;

    if (node->kind != BERTH_NODE_LIST)
        return berth_reading_choice(reading, key, node, err);
    site->runtime.raw = BERTH_RAW_LIST;
    return berth_reading_list(reading, key, node, &site->runtime.allowed, err);
}

static int parse_seconds(const struct berth_reading *reading,
                         const struct berth_key *key, const struct berth_node *node,
                         struct berth_err *err)
{
    static const char expected[] = "1 to 86400 seconds";
    const char *text = node->text;
    char *end;
    long seconds;

    if (node->kind != BERTH_NODE_SCALAR)
        return berth_reading_mismatch(node, expected, err);
    seconds = strtol(text, &end, 10);

    /* strtol() also takes blanks and signs. */
    if (!isdigit((unsigned char)*text) || *end)
        return berth_reading_mismatch(node, expected, err);
    if (seconds < 1 || seconds > LONGEST_START)
        return berth_reading_mismatch(node, expected, err);
    *(unsigned int *)berth_reading_field(reading, key->field) = (unsigned int)seconds;
    return 0;
}

/* Adds the option NAME with VALUE, which NODE has, to the rule that is read, or its
 * error. */
static void add_option(const struct berth_reading *reading, enum berth_rule_kind kind,
                       const char *name, const char *value,
                       const struct berth_node *node)
{
    struct berth_err err;

    if (berth_rules_add(reading->into, kind, name, value, node->line, &err) < 0)
        berth_reading_add_error(reading, node->line, "", &err);
}

/* Is NODE a text with at least one letter? */
static bool has_text(const struct berth_node *node)
{
    return node->kind == BERTH_NODE_SCALAR && *node->text && !berth_node_is_empty(node);
}

/* Parses VALUE, one of the option NAME: true for an option without a value. */
static void parse_option(const struct berth_reading *reading, enum berth_rule_kind kind,
                         const char *name, const struct berth_node *value)
{
    const struct berth_site *site = reading->into;
    bool is_true;

    if (!has_text(value)) {
        struct berth_err err;

        berth_reading_mismatch(value, "values for an option", &err);
        berth_err_at(&err, "rule %zu: %s", site->rule_count, name);
        berth_reading_add_error(reading, value->line, "", &err);
        return;
    }
    is_true = !value->quoted && strcasecmp(value->text, "true") == 0;
    add_option(reading, kind, name, is_true ? "" : value->text, value);
}

/* Parses ITEM, the value of an option, or the list of its values. */
static void parse_option_values(const struct berth_reading *reading,
                                enum berth_rule_kind kind,
                                const struct berth_node *item)
{
    if (item->kind != BERTH_NODE_LIST || item->count == 0) {
        parse_option(reading, kind, item->key, item);
        return;
    }
    for (size_t i = 0; i < item->count; i++)
        parse_option(reading, kind, item->key, &item->items[i]);
}

/* Parses NODE, OPTION: VALUE lines; an option may have a list of values. */
static int parse_options(const struct berth_reading *reading, enum berth_rule_kind kind,
                         const struct berth_node *node, struct berth_err *err)
{
    if (node->kind != BERTH_NODE_MAP || node->count == 0)
        return berth_reading_mismatch(node, "OPTION: VALUE lines", err);
    for (size_t i = 0; i < node->count; i++)
        parse_option_values(reading, kind, &node->items[i]);
    return 0;
}

/* Parses NODE, a list of names of options. */
static int parse_forbidden(const struct berth_reading *reading,
                           const struct berth_node *node, struct berth_err *err)
{
    if (node->kind != BERTH_NODE_LIST)
        return berth_reading_mismatch(node, "a list of options", err);
    for (size_t i = 0; i < node->count; i++) {
        const struct berth_node *item = &node->items[i];

        if (item->kind != BERTH_NODE_SCALAR)
            return berth_reading_mismatch(item, "the name of an option", err);
        add_option(reading, BERTH_RULE_FORBID, item->text, "", item);
    }
    return 0;
}

static int parse_rule_text(const struct berth_node *node, char **ret,
                           struct berth_err *err)
{
    if (node->kind != BERTH_NODE_SCALAR)
        return berth_reading_mismatch(node, "one name", err);
    if (berth_value_text(node->text, err) < 0)
        return -1;
    *ret = strdup(node->text);
    return berth_err_oom_if(!*ret, err);
}

static int parse_rule_key(const struct berth_reading *reading,
                          const struct berth_node *node, struct berth_site_rule *rule,
                          struct berth_err *err)
{
    static const char *const keys[] = {"partition", "account", "default",
                                       "force",     "forbid",  NULL};
    int kind = berth_choice_find("default|force|forbid", node->key);

    if (strcmp(node->key, "partition") == 0)
        return parse_rule_text(node, &rule->partition, err);
    if (strcmp(node->key, "account") == 0)
        return parse_rule_text(node, &rule->account, err);
    if (kind == BERTH_RULE_FORBID)
        return parse_forbidden(reading, node, err);
    if (kind >= 0)
        return parse_options(reading, (enum berth_rule_kind)kind, node, err);
    return berth_suggest(node->key, "a key here", keys, err);
}

/* Does the rule NODE set or forbid anything? */
static bool has_effect(const struct berth_node *node)
{
    return berth_node_find(node, "default") || berth_node_find(node, "force") ||
           berth_node_find(node, "forbid");
}

static void parse_rule(const struct berth_reading *reading,
                       const struct berth_node *node, struct berth_site_rule *rule)
{
    struct berth_err err;

    if (node->kind != BERTH_NODE_MAP) {
        berth_reading_mismatch(node, "a section of default, force and forbid", &err);
        berth_reading_add_error(reading, node->line, "rules", &err);
        return;
    }
    for (size_t i = 0; i < node->count; i++)
        if (parse_rule_key(reading, &node->items[i], rule, &err) < 0)
            berth_reading_add_error(reading, node->items[i].line, "rules", &err);
    if (!has_effect(node)) {
        berth_err_set(&err, "a rule without default, force or forbid; leave it out");
        berth_reading_add_error(reading, node->line, "rules", &err);
    }
}

static int parse_rules(const struct berth_reading *reading, const struct berth_key *key,
                       const struct berth_node *node, struct berth_err *err)
{
    struct berth_site *site = reading->into;

    (void)key; /* there is one key of this kind */
    if (node->kind != BERTH_NODE_LIST)
        return berth_reading_mismatch(node, "a list", err);
    site->rules = calloc(node->count + 1, sizeof(*site->rules));
    if (!site->rules)
        return berth_err_oom(err);
    for (size_t i = 0; i < node->count; i++) {
        struct berth_site_rule *rule = &site->rules[site->rule_count];

        site->rule_count++; /* sentences count rules from 1 */
        parse_rule(reading, &node->items[i], rule);
    }
    return 0;
}

#define FIELD(name) offsetof(struct berth_site, name)

static const struct berth_key all[] = {
    {"runtime.path", parse_value, berth_value_path, NULL, FIELD(runtime.path)},
    {"runtime.args", parse_list, berth_value_text, NULL, FIELD(runtime.args)},
    {"runtime.share", berth_reading_choice, NULL, "auto|no", FIELD(runtime.share)},
    {"runtime.start_timeout", parse_seconds, NULL, NULL, FIELD(runtime.start_timeout)},
    {"runtime.raw_args", parse_raw_args, berth_value_text, "any|none",
     FIELD(runtime.raw)},
    {"images.roots", parse_list, berth_value_path, NULL, FIELD(images.roots)},
    {"images.uris", parse_uris, berth_value_uri, "none", FIELD(images.uris)},
    {"images.owners", parse_list, berth_value_user, NULL, FIELD(images.owners)},
    {"images.signatures", parse_list, berth_value_fingerprint, NULL,
     FIELD(images.signatures)},
    {"images.cache", parse_value, berth_value_cache, NULL, FIELD(images.cache)},
    {"images.store", parse_value, berth_value_path, NULL, FIELD(images.store)},
    {"images.store_owner", parse_value, berth_value_user, NULL,
     FIELD(images.store_owner)},
    {"images.compression", parse_value, berth_value_compression, NULL,
     FIELD(images.compression)},
    {"images.missing", berth_reading_choice, NULL, "auto|refuse|warn",
     FIELD(images.missing)},
    {"images.bare", berth_reading_choice, NULL, "refuse|pull", FIELD(images.bare)},
    {"mounts.forced", parse_list, berth_value_mount, NULL, FIELD(mounts.forced)},
    {"mounts.default", parse_list, berth_value_mount, NULL, FIELD(mounts.defaults)},
    {"mounts.forbidden", parse_list, berth_value_path, NULL, FIELD(mounts.forbidden)},
    {"environment.capture", parse_list, berth_value_pattern, NULL,
     FIELD(environment.capture)},
    {"environment.deny", parse_list, berth_value_pattern, NULL,
     FIELD(environment.deny)},
    {"environment.unset", parse_list, berth_value_variable, NULL,
     FIELD(environment.unset)},
    {"environment.pytorch", parse_pytorch, check_pytorch, NULL,
     FIELD(environment.pytorch)},
    {"mpi.order", parse_list, berth_value_mode, NULL, FIELD(mpi.order)},
    {"mpi.glibc", berth_reading_choice, NULL, "replace|refuse", FIELD(mpi.glibc)},
    {"mpi.compare", berth_reading_choice, NULL, "yes|no", FIELD(mpi.compare)},
    {"rules", parse_rules, NULL, NULL, FIELD(rules)},
    {"provenance.file", parse_value, berth_value_path, NULL, FIELD(provenance.file)},
    {"oci.runtime", parse_value, berth_value_path, NULL, FIELD(oci.runtime)},
    {"inside", berth_reading_choice, NULL, "srun|all|none", FIELD(inside)},
    {"profiles_dir", parse_value, berth_value_path, NULL, FIELD(profiles_dir)},
    {"writable_dir", parse_value, berth_value_path, NULL, FIELD(writable_dir)},
    {0},
};

static void note(const struct berth_reading *reading, const struct berth_key *key,
                 const struct berth_node *node, const char *item)
{
    berth_site_note(reading->into, key->path, item, reading->file, node->line);
}

int berth_site_parse(const char *file, const char *bytes, size_t size,
                     struct berth_site *ret, struct berth_strvec *errors,
                     struct berth_err *err)
{
    BERTH_NODE struct berth_node root = {0};
    struct berth_site site = berth_site_default();
    const struct berth_reading reading = {file, all, note, &site, errors};

    site.file = strdup(file);
    berth_reading_read(&reading, bytes, size, &root);
    if (!site.file || errors->failed || site.places.failed) {
        berth_site_fini(&site);
        return berth_err_oom(err);
    }
    *ret = site;
    return 0;
}
