/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the rules of berth.yaml and applies them to a job. Each value that the check
 * accepts has its effect. */

#include "site/rules.h"

#include <string.h>
#include <strings.h>

#include "request/option.h"
#include "request/pyxis.h"
#include "base/suggest.h"

/* An option in a rule. */
struct given {
    size_t rule;
    enum berth_rule_kind kind;
    enum berth_option_id id; /* BERTH_OPTION_COUNT: NAME is not an option */
    const char *name;
    const char *value; /* "": the name alone */
};

static struct given given_at(const struct berth_site *site, size_t rule,
                             enum berth_rule_kind kind, size_t at)
{
    char *const *pair = &site->rules[rule].options[kind].items[at];

    return (struct given){rule, kind, berth_option_find(pair[0]), pair[0], pair[1]};
}

/* FILE:LINE of GIVEN. */
static const char *where(const struct berth_site *site, const struct given *given)
{
    return berth_site_where_rule(site, given->rule + 1, given->name);
}

static int parse_switch(const struct given *given, struct berth_request *ret,
                        struct berth_err *err)
{
    const struct berth_option *option = &berth_options[given->id];
    enum berth_choice *choice = (enum berth_choice *)((char *)ret + option->field);
    enum berth_choice other = option->says == BERTH_YES ? BERTH_NO : BERTH_YES;

    if (*given->value && strcasecmp(given->value, "yes") != 0)
        return berth_err_set(err, "expected yes, got '%s'; the opposite is %s: yes",
                             given->value,
                             berth_option_switch(option->field, other)->name);
    if (*choice == other)
        return berth_err_set(
            err, "the same rule sets the opposite, too; keep one of the two");
    *choice = option->says;
    return 0;
}

/* Is PART the beginning or the end of NAME, up to a dash (gpu: container-gpu)? */
static bool is_part(const char *part, const char *name)
{
    size_t length = strlen(part), all = strlen(name);

    return length > 1 && length < all &&
           ((strncmp(name, part, length) == 0 && name[length] == '-') ||
            (strcmp(name + all - length, part) == 0 && name[all - length - 1] == '-'));
}

/* The name of an option that NAME may mean; NULL: there is none. */
static const char *find_near(const char *name)
{
    const char *names[BERTH_OPTION_COUNT + 1] = {NULL};
    const char *near;

    for (int id = 0; id < BERTH_OPTION_COUNT; id++)
        names[id] = berth_options[id].name;
    near = berth_suggest_nearest(name, names, strlen(name) / 3 + 1);
    for (int id = 0; !near && id < BERTH_OPTION_COUNT; id++)
        near = is_part(name, names[id]) ? names[id] : NULL;
    return near;
}

static int suggest(const char *name, struct berth_err *err)
{
    const char *meant = find_near(name);

    if (berth_pyxis_check_name(name, err) < 0)
        return -1;
    if (meant)
        return berth_suggest_meant(name, "an option", meant, err);
    return berth_err_set(
        err, "'%s' is not an option; expected a name like container-image", name);
}

/* A default of these would have no effect: a step without an image runs on the host,
 * and mounts and flags have keys of their own. */
static bool may_default(enum berth_option_id id)
{
    return id != BERTH_OPTION_IMAGE && id != BERTH_OPTION_MOUNTS &&
           id != BERTH_OPTION_ARGS;
}

static int parse_value(const struct given *given, struct berth_request *ret,
                       struct berth_err *err)
{
    if (given->id == BERTH_OPTION_EXPLAIN)
        return berth_err_set(
            err, "a rule cannot set this option, because no step would run; "
                 "leave it out");
    if (given->kind == BERTH_RULE_DEFAULT && !may_default(given->id))
        return berth_err_set(err, "it cannot be a default; force it, or write "
                                  "mounts.default or runtime.args");
    if (berth_options[given->id].kind == BERTH_KIND_SWITCH)
        return parse_switch(given, ret, err);
    if (berth_request_parse(ret, given->id, given->value, NULL, err) < 0)
        return -1;
    if (given->id == BERTH_OPTION_IMAGE && !berth_request_has_container(ret))
        return berth_err_set(err, "a rule cannot remove the image; name an image");
    return 0;
}

static int parse_given(const struct berth_site *site, const struct given *given,
                       struct berth_request *ret, struct berth_err *err)
{
    int result = 0;

    if (given->id == BERTH_OPTION_COUNT)
        result = suggest(given->name, err);
    else if (given->kind != BERTH_RULE_FORBID)
        result = parse_value(given, ret, err);
    if (result == 0)
        return 0;
    if (given->id != BERTH_OPTION_COUNT)
        berth_err_at(err, "%s", given->name);
    return berth_err_at(err, "%s: rule %zu", where(site, given), given->rule + 1);
}

static size_t count_of(const struct berth_site *site, size_t rule,
                       enum berth_rule_kind kind)
{
    return site->rules[rule].options[kind].count;
}

void berth_rules_faults(const struct berth_site *site, struct berth_strvec *faults)
{
    for (size_t i = 0; i < site->rule_count * BERTH_RULE_KINDS; i++) {
        enum berth_rule_kind kind = (enum berth_rule_kind)(i % BERTH_RULE_KINDS);
        size_t rule = i / BERTH_RULE_KINDS;
        BERTH_REQUEST struct berth_request request = {0};

        for (size_t j = 0; j + 1 < count_of(site, rule, kind); j += 2) {
            const struct given given = given_at(site, rule, kind, j);
            struct berth_err err;

            if (parse_given(site, &given, &request, &err) < 0)
                berth_strvec_push(faults, err.text);
        }
    }
}

static bool is_same(const char *wanted, const char *text)
{
    return !wanted || (text && strcmp(wanted, text) == 0);
}

static bool applies(const struct berth_site_rule *rule,
                    const struct berth_rules_job *job)
{
    return is_same(rule->partition, job->partition) &&
           is_same(rule->account, job->account);
}

int berth_rules_apply(const struct berth_site *site, const struct berth_rules_job *job,
                      enum berth_rule_kind kind, struct berth_request *ret,
                      struct berth_err *err)
{
    for (size_t i = 0; i < site->rule_count; i++) {
        BERTH_REQUEST struct berth_request rule = {0};

        if (!applies(&site->rules[i], job))
            continue;
        for (size_t j = 0; j + 1 < count_of(site, i, kind); j += 2) {
            const struct given given = given_at(site, i, kind, j);

            if (parse_given(site, &given, &rule, err) < 0)
                return -1;
        }
        if (berth_request_merge(ret, &rule, err) < 0)
            return -1;
    }
    return 0;
}

bool berth_rules_have(const struct berth_site *site, enum berth_rule_kind kind,
                      enum berth_option_id id, bool (*is)(const char *value))
{
    for (size_t i = 0; i < site->rule_count; i++)
        for (size_t j = 0; j + 1 < count_of(site, i, kind); j += 2) {
            const struct given given = given_at(site, i, kind, j);

            if (given.id == id && (!is || is(given.value)))
                return true;
        }
    return false;
}

const char *berth_rules_default(const struct berth_site *site, enum berth_option_id id)
{
    static const struct berth_rules_job any = {NULL, NULL};
    const char *value = NULL;

    for (size_t i = 0; i < site->rule_count; i++)
        for (size_t j = 0; j + 1 < count_of(site, i, BERTH_RULE_DEFAULT); j += 2) {
            const struct given given = given_at(site, i, BERTH_RULE_DEFAULT, j);

            if (given.id == id && applies(&site->rules[i], &any))
                value = given.value;
        }
    return value;
}

/* Finds what the rules force on the option ID in JOB, in RET, by the last rule with an
 * option of its field. */
static bool find_forced(const struct berth_site *site,
                        const struct berth_rules_job *job, enum berth_option_id id,
                        struct given *ret_given, struct berth_request *ret)
{
    bool is_found = false;

    for (size_t i = 0; i < site->rule_count; i++)
        for (size_t j = 0; j + 1 < count_of(site, i, BERTH_RULE_FORCE); j += 2) {
            const struct given given = given_at(site, i, BERTH_RULE_FORCE, j);

            if (given.id == BERTH_OPTION_COUNT || !applies(&site->rules[i], job) ||
                berth_options[given.id].field != berth_options[id].field)
                continue;
            is_found = true;
            *ret_given = given;
        }
    return is_found && parse_value(ret_given, ret, NULL) == 0;
}

int berth_rules_refuse(const struct berth_site *site, const struct berth_rules_job *job,
                       const struct berth_request *request, struct berth_err *err)
{
    static const struct berth_rules_job any = {NULL, NULL};

    for (size_t i = 0; i < site->rule_count; i++)
        for (size_t j = 0; j + 1 < count_of(site, i, BERTH_RULE_FORBID); j += 2) {
            const struct given given = given_at(site, i, BERTH_RULE_FORBID, j);

            if (given.id == BERTH_OPTION_COUNT ||
                !applies(&site->rules[i], job ? job : &any) ||
                !berth_request_value(request, given.id, 0))
                continue;
            return berth_err_set(
                err, "--%s: a rule of this site forbids it; leave it out (%s)",
                given.name, where(site, &given));
        }
    return 0;
}

/* The value of the option ID in REQUEST, for messages; NULL: none. */
static const char *value_of(const struct berth_request *request,
                            enum berth_option_id id)
{
    return id == BERTH_OPTION_IMAGE && request->image
               ? berth_request_name(request)
               : berth_request_value(request, id, 0);
}

static void list_one(const struct berth_site *site, const struct berth_rules_job *job,
                     enum berth_option_id id, const char *asked,
                     struct berth_strvec *ret)
{
    BERTH_REQUEST struct berth_request forced = {0};
    const char *name = berth_options[id].name;
    struct given given;
    const char *value;

    if (!find_forced(site, job, id, &given, &forced))
        return;
    value = value_of(&forced, id);
    if (!value)
        berth_strvec_pushf(ret, "--%s: a rule of this site sets the opposite (%s)",
                           name, where(site, &given));
    else if (strcmp(value, asked) != 0)
        berth_strvec_pushf(ret,
                           "--%s: a rule of this site replaces '%s' by '%s' "
                           "(%s)",
                           name, asked, value, where(site, &given));
}

void berth_rules_report(const struct berth_site *site,
                        const struct berth_rules_job *job,
                        const struct berth_request *request, struct berth_strvec *ret)
{
    for (int i = 0; i < BERTH_OPTION_COUNT; i++) {
        enum berth_option_id id = (enum berth_option_id)i;
        const char *asked = value_of(request, id);

        if (asked && berth_options[id].kind != BERTH_KIND_LIST)
            list_one(site, job, id, asked, ret);
    }
}
