/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the rules of berth.yaml and applies them to a job. Each value that the check
 * accepts has its effect. */

#include "site/rules.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/environ.h"
#include "request/option.h"
#include "base/suggest.h"
#include "base/text.h"

/* A rule says of a switch only that it is on; its opposite is another option. */
static int check_switch(const struct berth_option *option, const char *value,
                        struct berth_err *err)
{
    enum berth_choice other = option->says == BERTH_YES ? BERTH_NO : BERTH_YES;

    if (option->kind != BERTH_KIND_SWITCH || !*value || strcasecmp(value, "yes") == 0)
        return 0;
    return berth_err_set(err, "expected yes, got '%s'; the opposite is %s: yes", value,
                         berth_option_switch(option->field, other)->name);
}

/* Is PART the beginning or the end of NAME, up to a dash (gpu: container-gpu)? */
static bool is_part(const char *part, const char *name)
{
    size_t length = strlen(part), all = strlen(name);
    const char *end;

    if (length < 2 || length >= all)
        return false;
    if (berth_text_starts(name, part) && name[length] == '-')
        return true;
    end = name + all - length;
    return end[-1] == '-' && strcmp(end, part) == 0;
}

/* The name of an option that NAME may mean; NULL: there is none. */
static const char *find_near(const char *name)
{
    const char *near = berth_option_near(name, strlen(name) / 3 + 1);

    if (near)
        return near;
    for (int id = 0; id < BERTH_OPTION_COUNT; id++)
        if (is_part(name, berth_options[id].name))
            return berth_options[id].name;
    return NULL;
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

static int parse_value(enum berth_rule_kind kind, enum berth_option_id id,
                       const char *value, struct berth_request *ret,
                       struct berth_err *err)
{
    if (id == BERTH_OPTION_EXPLAIN)
        return berth_err_set(
            err, "a rule cannot set this option, because no step would run; "
                 "leave it out");
    if (kind == BERTH_RULE_DEFAULT && !may_default(id))
        return berth_err_set(err, "it cannot be a default; force it, or write "
                                  "mounts.default or runtime.args");
    if (check_switch(&berth_options[id], value, err) < 0)
        return -1;
    if (berth_request_parse(ret, id, value, NULL, err) < 0)
        return -1;
    if (id == BERTH_OPTION_IMAGE && !berth_request_has_container(ret))
        return berth_err_expected(err, "an image", value);
    return 0;
}

static int add_option(struct berth_site_rule *rule, enum berth_rule_kind kind,
                      const char *name, const char *value, unsigned int line,
                      struct berth_err *err)
{
    enum berth_option_id id = berth_option_find(name);

    if (id == BERTH_OPTION_COUNT)
        return suggest(name, err);
    rule->lines[kind][id] = line;
    if (kind == BERTH_RULE_FORBID)
        return 0;
    if (parse_value(kind, id, value, &rule->set[kind], err) < 0)
        return berth_err_at(err, "%s", name);
    return 0;
}

int berth_rules_add(struct berth_site *site, enum berth_rule_kind kind,
                    const char *name, const char *value, unsigned int line,
                    struct berth_err *err)
{
    struct berth_site_rule *rule = &site->rules[site->rule_count - 1];

    if (add_option(rule, kind, name, value, line, err) < 0)
        return berth_err_at(err, "rule %zu", site->rule_count);
    return 0;
}

/* The value of NAME for the component GROUP of a het job; NULL: none. */
static const char *value_in_group(char *const *environment, const char *name, int group)
{
    /* Slurm before 20.02 calls a het job a pack job. */
    static const char *const suffixes[] = {"HET", "PACK"};

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        char variable[64];
        const char *value;

        snprintf(variable, sizeof(variable), "%s_%s_GROUP_%d", name, suffixes[i],
                 group);
        value = berth_environ_value(environment, variable);
        if (value)
            return value;
    }
    return NULL;
}

struct berth_rules_job berth_rules_job_of(char *const *environment, int group)
{
    static const char partition[] = "SLURM_JOB_PARTITION";
    static const char account[] = "SLURM_JOB_ACCOUNT";
    struct berth_rules_job job = {0};

    if (group < 0) {
        job.partition = berth_environ_value(environment, partition);
        job.account = berth_environ_value(environment, account);
        return job;
    }
    job.partition = value_in_group(environment, partition, group);
    job.account = value_in_group(environment, account, group);
    job.is_hidden = !job.partition;
    return job;
}

int berth_rules_check_job(const struct berth_site *site,
                          const struct berth_rules_job *job, struct berth_err *err)
{
    for (size_t i = 0; i < site->rule_count; i++) {
        const struct berth_site_rule *rule = &site->rules[i];
        bool is_for_some = rule->partition || rule->account;

        if (job->is_hidden && is_for_some)
            return berth_err_set(
                err,
                "SLURM_JOB_PARTITION_HET_GROUP_* are not set: the partition and "
                "account of this component are not known, and rule %zu of this site "
                "is for some of them only (%s); do not unset Slurm's variables",
                i + 1, site->file);
    }
    return 0;
}

/* Is TEXT what a rule WANTs; NULL: anything? */
static bool is_wanted(const char *wanted, const char *text)
{
    if (!wanted)
        return true;
    return text && strcmp(wanted, text) == 0;
}

/* JOB NULL: any. */
static bool applies(const struct berth_site_rule *rule,
                    const struct berth_rules_job *job)
{
    if (!job)
        return true;
    return is_wanted(rule->partition, job->partition) &&
           is_wanted(rule->account, job->account);
}

int berth_rules_apply(const struct berth_site *site, const struct berth_rules_job *job,
                      enum berth_rule_kind kind, struct berth_request *ret,
                      struct berth_err *err)
{
    for (size_t i = 0; i < site->rule_count; i++)
        if (applies(&site->rules[i], job) &&
            berth_request_merge(ret, &site->rules[i].set[kind], err) < 0)
            return -1;
    return 0;
}

bool berth_rules_have(const struct berth_site *site, enum berth_rule_kind kind,
                      enum berth_option_id id, bool (*is)(const char *value))
{
    for (size_t i = 0; i < site->rule_count; i++) {
        const char *value = berth_request_value(&site->rules[i].set[kind], id, 0);

        if (value && (!is || is(value)))
            return true;
    }
    return false;
}

/* A job of which neither partition nor account is known. */
static const struct berth_rules_job any;

const char *berth_rules_default(const struct berth_site *site, enum berth_option_id id)
{
    const char *found = NULL;

    for (size_t i = 0; i < site->rule_count; i++) {
        const struct berth_site_rule *rule = &site->rules[i];
        const char *value = berth_request_value(&rule->set[BERTH_RULE_DEFAULT], id, 0);

        if (value && applies(rule, &any))
            found = value;
    }
    return found;
}

/* The last rule that forces the field of the option ID in JOB, by that option or its
 * opposite, on *RET_LINE; NULL: none. */
static const struct berth_site_rule *find_forced(const struct berth_site *site,
                                                 const struct berth_rules_job *job,
                                                 enum berth_option_id id,
                                                 unsigned int *ret_line)
{
    const struct berth_site_rule *found = NULL;

    for (size_t i = 0; i < site->rule_count; i++) {
        const struct berth_site_rule *rule = &site->rules[i];

        if (!applies(rule, job))
            continue;
        for (int k = 0; k < BERTH_OPTION_COUNT; k++) {
            bool is_same_field = berth_options[k].field == berth_options[id].field;
            unsigned int line = rule->lines[BERTH_RULE_FORCE][k];

            if (line == 0 || !is_same_field)
                continue;
            found = rule;
            *ret_line = line;
        }
    }
    return found;
}

unsigned int berth_rules_forbidden(const struct berth_site *site,
                                   const struct berth_rules_job *job,
                                   enum berth_option_id id)
{
    if (!job)
        job = &any;
    for (size_t i = 0; i < site->rule_count; i++) {
        unsigned int line = site->rules[i].lines[BERTH_RULE_FORBID][id];

        if (line && applies(&site->rules[i], job))
            return line;
    }
    return 0;
}

/* Refuses a container with a name if what the name implies is forbidden: the container
 * stays for the job, and unless it is read-only the image can be written to. */
static int refuse_name(const struct berth_site *site, const struct berth_rules_job *job,
                       const struct berth_request *request, struct berth_err *err)
{
    const unsigned int keeps = berth_rules_forbidden(site, job, BERTH_OPTION_LIFETIME);
    const unsigned int writes = berth_rules_forbidden(site, job, BERTH_OPTION_WRITABLE);

    if (keeps)
        return berth_err_set(
            err,
            "--container-name: the job would keep the container, and a "
            "rule of this site forbids --container-lifetime; leave it "
            "out (%s:%u)",
            site->file, keeps);
    if (writes && request->writable != BERTH_NO)
        return berth_err_set(err,
                             "--container-name: the image could be written to, and a "
                             "rule of this site forbids --container-writable; add "
                             "--container-readonly (%s:%u)",
                             site->file, writes);
    return 0;
}

int berth_rules_refuse(const struct berth_site *site, const struct berth_rules_job *job,
                       const struct berth_request *request, struct berth_err *err)
{
    for (int i = 0; i < BERTH_OPTION_COUNT; i++) {
        const enum berth_option_id id = (enum berth_option_id)i;
        unsigned int line = berth_rules_forbidden(site, job, id);

        if (line && berth_request_value(request, id, 0))
            return berth_err_set(
                err, "--%s: a rule of this site forbids it; leave it out (%s:%u)",
                berth_options[id].name, site->file, line);
    }
    return request->container_name ? refuse_name(site, job, request, err) : 0;
}

/* The value of the option ID in REQUEST, for messages; NULL: none. */
static const char *value_of(const struct berth_request *request,
                            enum berth_option_id id)
{
    if (id == BERTH_OPTION_IMAGE && request->image)
        return berth_request_name(request);
    return berth_request_value(request, id, 0);
}

/* Reports a rule that gives the option ID another value than ASKED, the user's. */
static void list_one(const struct berth_site *site, const struct berth_rules_job *job,
                     enum berth_option_id id, const char *asked,
                     struct berth_strvec *ret)
{
    const char *name = berth_options[id].name;
    unsigned int line = 0;
    const struct berth_site_rule *rule = find_forced(site, job, id, &line);
    const char *value;

    if (!rule)
        return;
    value = value_of(&rule->set[BERTH_RULE_FORCE], id);
    if (!value)
        berth_strvec_pushf(ret, "--%s: a rule of this site sets the opposite (%s:%u)",
                           name, site->file, line);
    else if (strcmp(value, asked) != 0)
        berth_strvec_pushf(ret,
                           "--%s: a rule of this site replaces '%s' by '%s' (%s:%u)",
                           name, asked, value, site->file, line);
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
