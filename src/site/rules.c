/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the rules of berth.yaml and applies them to a job. Each value that the check
 * accepts has its effect. */

#include "site/rules.h"

#include <string.h>
#include <strings.h>

#include "request/option.h"
#include "base/suggest.h"

static enum berth_option_id id_of(const struct berth_site_option *given)
{
    return berth_option_find(given->name);
}

static int check_switch(const struct berth_site_option *given, struct berth_err *err)
{
    const struct berth_option *option = &berth_options[id_of(given)];
    enum berth_choice other = option->says == BERTH_YES ? BERTH_NO : BERTH_YES;

    if (option->kind != BERTH_KIND_SWITCH || !*given->value ||
        strcasecmp(given->value, "yes") == 0)
        return 0;
    return berth_err_set(err, "expected yes, got '%s'; the opposite is %s: yes",
                         given->value, berth_option_switch(option->field, other)->name);
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
    const char *near = berth_option_near(name, strlen(name) / 3 + 1);

    for (int id = 0; !near && id < BERTH_OPTION_COUNT; id++)
        near = is_part(name, berth_options[id].name) ? berth_options[id].name : NULL;
    return near;
}

static int suggest(const char *name, struct berth_err *err)
{
    const char *meant = find_near(name);

    if (berth_pyxis_check_name(name, err) < 0)
        return -1;
    if (meant)
        return berth_suggest_meant(name, "an option", meant, err);
    return berth_suggest_expected(name, "an option", "a name like container-image",
                                  err);
}

/* A default of these would have no effect: a step without an image runs on the host,
 * and mounts and flags have keys of their own. */
static bool may_default(enum berth_option_id id)
{
    return id != BERTH_OPTION_IMAGE && id != BERTH_OPTION_MOUNTS &&
           id != BERTH_OPTION_ARGS;
}

static int parse_value(const struct berth_site_option *given, struct berth_request *ret,
                       struct berth_err *err)
{
    if (id_of(given) == BERTH_OPTION_EXPLAIN)
        return berth_err_set(
            err, "a rule cannot set this option, because no step would run; "
                 "leave it out");
    if (given->kind == BERTH_RULE_DEFAULT && !may_default(id_of(given)))
        return berth_err_set(err, "it cannot be a default; force it, or write "
                                  "mounts.default or runtime.args");
    if (check_switch(given, err) < 0 ||
        berth_request_parse(ret, id_of(given), given->value, NULL, err) < 0)
        return -1;
    if (id_of(given) == BERTH_OPTION_IMAGE && !berth_request_has_container(ret))
        return berth_err_expected(err, "an image", given->value);
    return 0;
}

static int parse_given(const struct berth_site_option *given, struct berth_request *ret,
                       struct berth_err *err)
{
    int result = 0;

    if (id_of(given) == BERTH_OPTION_COUNT)
        result = suggest(given->name, err);
    else if (given->kind != BERTH_RULE_FORBID)
        result = parse_value(given, ret, err);
    if (result == 0)
        return 0;
    if (id_of(given) != BERTH_OPTION_COUNT)
        berth_err_at(err, "%s", given->name);
    return berth_err_at(err, "%s: rule %zu", given->place, given->rule + 1);
}

void berth_rules_faults(const struct berth_site *site, struct berth_strvec *faults)
{
    BERTH_REQUEST struct berth_request request = {0}; /* of a rule and kind */

    for (size_t i = 0; i < site->option_count; i++) {
        const struct berth_site_option *given = &site->options[i];
        struct berth_err err;

        if (i > 0 && (given->rule != given[-1].rule || given->kind != given[-1].kind))
            berth_request_fini(&request);
        if (parse_given(given, &request, &err) < 0)
            berth_strvec_push(faults, err.text);
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

/* The next option of KIND from *AT on, in a rule for JOB (NULL: any); moves *AT past
 * it. NULL: there is none. */
static const struct berth_site_option *next(const struct berth_site *site,
                                            const struct berth_rules_job *job,
                                            enum berth_rule_kind kind, size_t *at)
{
    while (*at < site->option_count) {
        const struct berth_site_option *given = &site->options[(*at)++];

        if (given->kind == kind && (!job || applies(&site->rules[given->rule], job)))
            return given;
    }
    return NULL;
}

int berth_rules_apply(const struct berth_site *site, const struct berth_rules_job *job,
                      enum berth_rule_kind kind, struct berth_request *ret,
                      struct berth_err *err)
{
    const struct berth_site_option *given, *last = NULL;
    BERTH_REQUEST struct berth_request rule = {0};

    for (size_t at = 0; (given = next(site, job, kind, &at)); last = given) {
        if (last && last->rule != given->rule) {
            if (berth_request_merge(ret, &rule, err) < 0)
                return -1;
            berth_request_fini(&rule);
        }
        if (parse_given(given, &rule, err) < 0)
            return -1;
    }
    return berth_request_merge(ret, &rule, err);
}

bool berth_rules_have(const struct berth_site *site, enum berth_rule_kind kind,
                      enum berth_option_id id, bool (*is)(const char *value))
{
    const struct berth_site_option *given;

    for (size_t at = 0; (given = next(site, NULL, kind, &at));)
        if (id_of(given) == id && (!is || is(given->value)))
            return true;
    return false;
}

/* A job of which neither partition nor account is known. */
static const struct berth_rules_job any;

const char *berth_rules_default(const struct berth_site *site, enum berth_option_id id)
{
    const struct berth_site_option *given;
    const char *value = NULL;

    for (size_t at = 0; (given = next(site, &any, BERTH_RULE_DEFAULT, &at));)
        if (id_of(given) == id)
            value = given->value;
    return value;
}

/* Finds what the rules force on the option ID in JOB, in RET, by the last rule with an
 * option of its field. NULL: nothing. */
static const struct berth_site_option *find_forced(const struct berth_site *site,
                                                   const struct berth_rules_job *job,
                                                   enum berth_option_id id,
                                                   struct berth_request *ret)
{
    const struct berth_site_option *given, *found = NULL;

    for (size_t at = 0; (given = next(site, job, BERTH_RULE_FORCE, &at));)
        if (id_of(given) != BERTH_OPTION_COUNT &&
            berth_options[id_of(given)].field == berth_options[id].field)
            found = given;
    return found && parse_value(found, ret, NULL) == 0 ? found : NULL;
}

int berth_rules_refuse(const struct berth_site *site, const struct berth_rules_job *job,
                       const struct berth_request *request, struct berth_err *err)
{
    const struct berth_site_option *given;

    for (size_t at = 0; (given = next(site, job ? job : &any, BERTH_RULE_FORBID, &at));)
        if (id_of(given) != BERTH_OPTION_COUNT &&
            berth_request_value(request, id_of(given), 0))
            return berth_err_set(
                err, "--%s: a rule of this site forbids it; leave it out (%s)",
                given->name, given->place);
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
    const struct berth_site_option *given = find_forced(site, job, id, &forced);
    const char *value;

    if (!given)
        return;
    value = value_of(&forced, id);
    if (!value)
        berth_strvec_pushf(ret, "--%s: a rule of this site sets the opposite (%s)",
                           name, given->place);
    else if (strcmp(value, asked) != 0)
        berth_strvec_pushf(ret,
                           "--%s: a rule of this site replaces '%s' by '%s' "
                           "(%s)",
                           name, asked, value, given->place);
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
