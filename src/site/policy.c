/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what a site allows a user and what the site adds: makes the request that
 * runs. Reads no file: what is on the node comes as facts. */

#include "site/policy.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "site/detours.h"
#include "site/flags.h"
#include "request/mount.h"
#include "request/option.h"
#include "site/mountrules.h"
#include "site/rules.h"

/* Is ITEM (NAME or NAME=VALUE) the variable NAME? */
static bool is_variable(const char *item, const char *name)
{
    size_t length = strcspn(item, "=");

    return strlen(name) == length && strncmp(item, name, length) == 0;
}

/* The name of ITEM, if the site unsets it; else NULL. */
static const char *find_unset(const struct berth_site *site, const char *item)
{
    for (size_t i = 0; i < site->environment.unset.count; i++)
        if (is_variable(item, site->environment.unset.items[i]))
            return site->environment.unset.items[i];
    return NULL;
}

/* Keeps the name alone of a default for a variable that the task has, so that the
 * task's value passes, also with --cleanenv. A variable that the site unsets in tasks
 * gets the site's value. */
static void put_variables(const struct berth_site *site, char *const *environment,
                          const struct berth_strvec *defaults, struct berth_strvec *ret)
{
    for (size_t i = 0; i < defaults->count; i++) {
        const char *item = defaults->items[i];
        bool is_kept =
            berth_environ_value(environment, item) && !find_unset(site, item);

        berth_strvec_pushf(ret, "%.*s", (int)strcspn(item, is_kept ? "=" : ""), item);
    }
}

/* Adds the site's values for what the user leaves unsaid. */
static int add_defaults(const struct berth_site *site,
                        const struct berth_policy_facts *facts,
                        struct berth_request *ret, struct berth_err *err)
{
    struct berth_strvec env = {0};

    if (berth_rules_apply(site, &facts->job, BERTH_RULE_DEFAULT, ret, err) < 0)
        return -1;
    put_variables(site, facts->environment, &ret->env, &env);
    berth_strvec_fini(&ret->env);
    ret->env = env;
    return env.failed ? berth_err_oom(err) : 0;
}

/* Appends the user's mounts that no rule replaces, those of rules, and the site's,
 * which are right. */
static int put_mounts(const struct berth_site *site,
                      const struct berth_policy_facts *facts,
                      const struct berth_strvec *users,
                      const struct berth_strvec *forced, struct berth_strvec *ret,
                      struct berth_err *err)
{
    const struct berth_strvec *sites = &site->mounts.forced;
    bool *failed = &ret->failed;

    for (size_t i = 0; i < users->count; i++)
        if (!berth_mountrules_has_destination(forced, users->items[i], failed))
            berth_strvec_push(ret, users->items[i]);
    berth_strvec_append(ret, forced);
    for (size_t i = 0; facts->present && i < facts->present->count; i++) {
        const char *mount = facts->present->items[i];

        if (!berth_mountrules_has_destination(ret, mount, failed) &&
            !berth_mountrules_has_destination(sites, mount, failed) &&
            berth_mount_append(mount, NULL, ret, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < sites->count; i++)
        if (!berth_mountrules_has_destination(forced, sites->items[i], failed) &&
            berth_mount_append(sites->items[i], NULL, ret, err) < 0)
            return -1;
    return ret->failed ? berth_err_oom(err) : 0;
}

/* Appends the user's mounts. If the site forbids paths, the source becomes the real
 * path, so that a symbolic link that changes later has no effect. */
static int list_sources(const struct berth_site *site,
                        const struct berth_policy_facts *facts,
                        const struct berth_request *request, struct berth_strvec *ret,
                        struct berth_err *err)
{
    for (size_t i = 0; i < request->mounts.count; i++) {
        const char *real =
            facts->sources && i < facts->sources->count && site->mounts.forbidden.count
                ? facts->sources->items[i]
                : "";
        BERTH_MOUNT struct berth_mount mount = {0};

        if (berth_mount_parse(request->mounts.items[i], NULL, &mount, err) < 0)
            return -1;
        berth_mount_push(&mount, *real ? real : NULL, ret);
    }
    return ret->failed ? berth_err_oom(err) : 0;
}

/* Refuses flags and variables that the site forbids on every node. */
static int check_words(const struct berth_site *site,
                       const struct berth_request *request, struct berth_err *err)
{
    if (berth_flags_check_args(site, &request->args, err) < 0)
        return -1;
    for (size_t i = 0; i < request->env.count; i++) {
        const char *name = find_unset(site, request->env.items[i]);

        if (!name)
            continue;
        berth_err_set(err,
                      "--container-env: '%s': this site unsets it in every "
                      "container; leave it out",
                      name);
        return berth_site_cite(site, "environment.unset", name, err);
    }
    return 0;
}

/* Is there a user before the host, which then looks like the host (RFC 3986, 3.2.1)? */
static bool has_user(const char *uri)
{
    const char *host = strstr(uri, "://");

    host = host ? host + 3 : uri;
    return memchr(host, '@', strcspn(host, "/?#")) != NULL;
}

/* A registry may resolve `..`, also as %2e. */
static bool has_step_up(const char *uri)
{
    return strstr(uri, "/..") || strchr(uri, '%') || strchr(uri, '\\');
}

static bool starts_with(const char *uri, const char *beginning)
{
    size_t length = strlen(beginning);

    if (length == 0 || strncmp(uri, beginning, length) != 0)
        return false;
    return strchr("/:", beginning[length - 1]) || uri[length] == '\0' ||
           strchr("/:@", uri[length]);
}

static bool allows_uri(const struct berth_strvec *beginnings, const char *uri)
{
    for (size_t i = 0; i < beginnings->count; i++)
        if (starts_with(uri, beginnings->items[i]) && !has_step_up(uri) &&
            (!has_user(uri) || has_user(beginnings->items[i])))
            return true;
    return false;
}

int berth_policy_check_uri(const struct berth_site *site, const char *uri,
                           struct berth_err *err)
{
    const struct berth_strvec *uris = &site->images.uris;

    if (!uri || (!site->images.has_uris && site->images.roots.count == 0) ||
        allows_uri(uris, uri))
        return 0;
    return site->images.has_uris
               ? berth_site_refuse(site, "image", uri, uris, "images.uris", err)
               : berth_site_refuse(site, "image", uri, &site->images.roots,
                                   "images.roots", err);
}

bool berth_policy_may_set_image(const struct berth_site *site)
{
    return berth_rules_have(site, BERTH_RULE_FORCE, BERTH_OPTION_IMAGE, NULL);
}

/* Does a rule of KIND set a mode that IS_MODE, or libraries that ARE_LIBS? */
static bool may_set(const struct berth_site *site, enum berth_rule_kind kind,
                    bool (*is_mode)(const char *), bool (*are_libs)(const char *))
{
    return berth_rules_have(site, kind, BERTH_OPTION_MPI, is_mode) ||
           berth_rules_have(site, kind, BERTH_OPTION_LIBS, are_libs);
}

bool berth_policy_may_set_mpi(const struct berth_site *site)
{
    return may_set(site, BERTH_RULE_FORCE, NULL, NULL) ||
           may_set(site, BERTH_RULE_DEFAULT, NULL, NULL);
}

static bool is_chosen(const char *mode)
{
    const struct berth_request request = {.mpi = (char *)mode};

    return berth_request_mpi_chosen(&request);
}

static bool is_job(const char *lifetime)
{
    return strcmp(lifetime, BERTH_LIFETIME_JOB) == 0;
}

bool berth_policy_may_join_ranks(const struct berth_site *site, enum berth_choice asked)
{
    return may_set(site, BERTH_RULE_FORCE, is_chosen, berth_libs_need_mpi) ||
           (asked == BERTH_UNSAID &&
            may_set(site, BERTH_RULE_DEFAULT, is_chosen, berth_libs_need_mpi));
}

bool berth_policy_may_last_job(const struct berth_site *site, const char *said)
{
    return berth_rules_have(site, BERTH_RULE_FORCE, BERTH_OPTION_LIFETIME, NULL) ||
           (said ? is_job(said)
                 : berth_rules_have(site, BERTH_RULE_DEFAULT, BERTH_OPTION_LIFETIME,
                                    is_job));
}

int berth_policy_check_early(const struct berth_site *site,
                             const struct berth_request *request,
                             char *const *environment, struct berth_err *err)
{
    if (!berth_request_has_container(request))
        return 0;
    if (check_words(site, request, err) < 0 ||
        berth_flags_check_unset(site, &request->args, environment, err) < 0 ||
        berth_rules_refuse(site, NULL, request, err) < 0 ||
        berth_detours_check(site, NULL, request, environment, err) < 0 ||
        (environment && berth_flags_check_environment(site, environment, err) < 0) ||
        berth_mountrules_check_flags(site, request, environment, err) < 0 ||
        berth_mountrules_check(site, &request->mounts, NULL, err) < 0)
        return -1;
    return berth_policy_may_set_image(site)
               ? 0
               : berth_policy_check_uri(site, request->uri, err);
}

/* Lists in RET, for explain, what of its lists is not the user's. USERS are the user's
 * mounts as they are in RET. */
static void list_items(const struct berth_request *request,
                       const struct berth_strvec *users, struct berth_request *ret)
{
    for (size_t i = 0; i < ret->mounts.count; i++)
        if (!berth_strvec_has(users, ret->mounts.items[i]))
            berth_strvec_push(&ret->site, ret->mounts.items[i]);
    for (size_t i = 0; i < ret->env.count; i++)
        if (!berth_strvec_has(&request->env, ret->env.items[i]))
            berth_strvec_push(&ret->site, ret->env.items[i]);
}

/* Lists in RET, for explain, which options are not the user's, and whether --mpi-bind
 * is, always. A fabric of the user sets that, too. */
static void list_options(const struct berth_request *request, struct berth_request *ret)
{
    for (int id = 0; id < BERTH_OPTION_COUNT; id++) {
        const char *is = berth_request_value(ret, id, 0);
        const char *was = berth_request_value(request, id, 0);

        if ((id != BERTH_OPTION_MPI && !berth_request_is_explained(request)) ||
            berth_options[id].kind == BERTH_KIND_LIST || !is ||
            (was && strcmp(is, was) == 0) ||
            (id == BERTH_OPTION_MPI && !was && request->libs))
            continue;
        berth_strvec_push(&ret->site, berth_options[id].name);
    }
}

/* Appends the flags of the user, of the site, and of rules: the last of two wins. */
static int put_flags(const struct berth_site *site, const struct berth_strvec *users,
                     const struct berth_strvec *forced, struct berth_strvec *ret,
                     struct berth_err *err)
{
    if (site->runtime.args.count == 0 && forced->count == 0)
        berth_strvec_append(ret, users);
    else if (berth_flags_close(users, ret, err) < 0)
        return -1;
    berth_strvec_append(ret, &site->runtime.args);
    berth_strvec_append(ret, forced);
    return ret->failed ? berth_err_oom(err) : 0;
}

/* Merges FORCED over REQUEST over the site's defaults. */
static int merge_layers(const struct berth_site *site,
                        const struct berth_policy_facts *facts,
                        const struct berth_request *request,
                        const struct berth_request *forced, struct berth_request *ret,
                        struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec users = {0};

    if (add_defaults(site, facts, ret, err) < 0 ||
        berth_request_merge(ret, request, err) < 0 ||
        berth_request_merge(ret, forced, err) < 0 ||
        list_sources(site, facts, request, &users, err) < 0)
        return -1;
    berth_strvec_fini(&ret->mounts);
    berth_strvec_fini(&ret->args);
    if (put_mounts(site, facts, &users, &forced->mounts, &ret->mounts, err) < 0)
        return -1;
    if (put_flags(site, &request->args, &forced->args, &ret->args, err) < 0)
        return -1;
    if (berth_request_is_explained(request))
        list_items(request, &users, ret);
    return ret->mounts.failed ? berth_err_oom(err) : 0;
}

int berth_policy_apply(const struct berth_site *site,
                       const struct berth_policy_facts *facts,
                       const struct berth_request *request, struct berth_request *ret,
                       struct berth_err *err)
{
    BERTH_REQUEST struct berth_request forced = {0};
    BERTH_REQUEST struct berth_request whole = {0};

    if (!berth_request_has_container(request))
        return berth_request_merge(ret, request, err);
    if (berth_rules_check_job(site, &facts->job, err) < 0 ||
        check_words(site, request, err) < 0 ||
        berth_flags_check_unset(site, &request->args, facts->environment, err) < 0 ||
        berth_rules_refuse(site, &facts->job, request, err) < 0 ||
        berth_detours_check(site, &facts->job, request, facts->environment, err) < 0 ||
        berth_flags_check_environment(site, facts->environment, err) < 0 ||
        berth_mountrules_check_flags(site, request, facts->environment, err) < 0 ||
        berth_mountrules_check(site, facts->mounts, facts->sources, err) < 0 ||
        (facts->sources && berth_mountrules_check_sources(
                               site, facts->mounts, facts->sources,
                               request->mounts.count, facts->named, err) < 0) ||
        berth_rules_apply(site, &facts->job, BERTH_RULE_FORCE, &forced, err) < 0 ||
        merge_layers(site, facts, request, &forced, &whole, err) < 0 ||
        berth_request_complete(&whole, err) < 0 ||
        berth_policy_check_uri(site, whole.uri, err) < 0)
        return -1;
    list_options(request, &whole);
    if (whole.site.failed)
        return berth_err_oom(err);
    *ret = berth_steal(&whole);
    return 0;
}
