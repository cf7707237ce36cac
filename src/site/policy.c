/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what a site allows a user and what the site adds: makes the request that
 * runs. Reads no file: what is on the node comes as facts. */

#include "site/policy.h"

#include <stdio.h>
#include <stdlib.h>
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
        bool has_task = berth_environ_value(environment, item);

        if (has_task && !find_unset(site, item))
            berth_strvec_pushf(ret, "%.*s", (int)strcspn(item, "="), item);
        else
            berth_strvec_push(ret, item);
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
    return berth_err_oom_if(env.failed, err);
}

/* Appends MOUNT, unless ONE or OTHER has another mount at its place. */
static int put_unless(const char *mount, const struct berth_strvec *one,
                      const struct berth_strvec *other, struct berth_strvec *ret,
                      struct berth_err *err)
{
    if (berth_mountrules_has_destination(one, mount, &ret->failed))
        return 0;
    if (berth_mountrules_has_destination(other, mount, &ret->failed))
        return 0;
    return berth_mount_append(mount, NULL, ret, err);
}

/* Appends the user's mounts that no rule replaces, those of rules, and the site's,
 * which are right. */
static int put_mounts(const struct berth_site *site,
                      const struct berth_policy_facts *facts,
                      const struct berth_strvec *users,
                      const struct berth_strvec *forced, struct berth_strvec *ret,
                      struct berth_err *err)
{
    static const struct berth_strvec none;
    const struct berth_strvec *sites = &site->mounts.forced;
    const struct berth_strvec *present = facts->present ? facts->present : &none;

    for (size_t i = 0; i < users->count; i++)
        if (!berth_mountrules_has_destination(forced, users->items[i], &ret->failed))
            berth_strvec_push(ret, users->items[i]);
    berth_strvec_append(ret, forced);
    for (size_t i = 0; i < present->count; i++)
        if (put_unless(present->items[i], ret, sites, ret, err) < 0)
            return -1;
    for (size_t i = 0; i < sites->count; i++)
        if (put_unless(sites->items[i], forced, &none, ret, err) < 0)
            return -1;
    return berth_err_oom_if(ret->failed, err);
}

/* The real path of the source of the user's mount I, if it is to be mounted in place of
 * the path that the user wrote; else NULL. */
static const char *real_source(const struct berth_site *site,
                               const struct berth_policy_facts *facts, size_t i)
{
    if (site->mounts.forbidden.count == 0)
        return NULL;
    if (!facts->sources || i >= facts->sources->count)
        return NULL;
    return *facts->sources->items[i] ? facts->sources->items[i] : NULL;
}

/* Appends the user's mounts. If the site forbids paths, the source becomes the real
 * path, so that a symbolic link that changes later has no effect. */
static int list_sources(const struct berth_site *site,
                        const struct berth_policy_facts *facts,
                        const struct berth_request *request, struct berth_strvec *ret,
                        struct berth_err *err)
{
    for (size_t i = 0; i < request->mounts.count; i++) {
        BERTH_MOUNT struct berth_mount mount = {0};

        if (berth_mount_parse(request->mounts.items[i], NULL, &mount, err) < 0)
            return -1;
        berth_mount_push(&mount, real_source(site, facts, i), ret);
    }
    return berth_err_oom_if(ret->failed, err);
}

/* Does SITE allow the FLAG of the runtime, which does what an option does? */
static bool allows_flag(const struct berth_site *site, const char *flag)
{
    const struct berth_strvec one = {.items = (char *[]){(char *)flag}, .count = 1};
    struct berth_err why;

    return berth_flags_check_args(site, &one, &why) == 0;
}

/* Refuses --container-remap-root if the site does not allow the flag that it is. */
static int check_root(const struct berth_site *site,
                      const struct berth_request *request, struct berth_err *err)
{
    if (request->root != BERTH_YES || allows_flag(site, "--fakeroot"))
        return 0;
    berth_err_set(err,
                  "--container-remap-root: it is the flag --fakeroot of the runtime, "
                  "which this site does not allow; leave it out");
    return berth_site_cite(site, "runtime.raw_args", "", err);
}

/* Refuses MOUNT, `umount:DST`, written as TEXT, if the site does not allow what could
 * do the same. */
static int check_unmount(const struct berth_site *site,
                         const struct berth_rules_job *job,
                         const struct berth_mount *mount, const char *text,
                         struct berth_err *err)
{
    const unsigned int line =
        berth_rules_forbidden(site, job, BERTH_OPTION_NO_MOUNT_HOME);
    BERTH_FREE char *flag = NULL;

    if (line)
        return berth_err_set(err,
                             "--container-mounts: '%s': it could do what "
                             "--no-container-mount-home does, which a rule of this "
                             "site forbids; leave it out (%s:%u)",
                             text, site->file, line);
    if (asprintf(&flag, "--no-mount=%s", mount->destination) < 0) {
        flag = NULL;
        return berth_err_oom(err);
    }
    if (allows_flag(site, flag))
        return 0;
    berth_err_set(err,
                  "--container-mounts: '%s': it does what the flag --no-mount of the "
                  "runtime does, which this site does not allow; leave it out",
                  text);
    return berth_site_cite(site, "runtime.raw_args", "", err);
}

/* Refuses each mount that is to be taken away, if the site does not allow that. */
static int check_unmounts(const struct berth_site *site,
                          const struct berth_rules_job *job,
                          const struct berth_request *request, struct berth_err *err)
{
    for (size_t i = 0; i < request->mounts.count; i++) {
        const char *text = request->mounts.items[i];
        BERTH_MOUNT struct berth_mount mount = {0};

        if (berth_mount_parse(text, NULL, &mount, err) < 0)
            return berth_err_at(err, "--container-mounts");
        if (mount.mode == BERTH_MOUNT_UMOUNT &&
            check_unmount(site, job, &mount, text, err) < 0)
            return -1;
    }
    return 0;
}

/* Refuses flags and variables that the site forbids on every node. */
static int check_args(const struct berth_site *site,
                      const struct berth_request *request, struct berth_err *err)
{
    if (berth_flags_check_args(site, &request->args, err) < 0)
        return -1;
    if (check_root(site, request, err) < 0)
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
    const char *scheme_end = strstr(uri, "://");
    const char *host = scheme_end ? scheme_end + strlen("://") : uri;

    return memchr(host, '@', strcspn(host, "/?#")) != NULL;
}

/* A registry may resolve `..`, also as %2e. */
static bool has_step_up(const char *uri)
{
    return strstr(uri, "/..") || strchr(uri, '%') || strchr(uri, '\\');
}

/* Does URI start with BEGINNING, up to the end of one of its parts? */
static bool starts_with(const char *uri, const char *beginning)
{
    size_t length = strlen(beginning);
    bool ends_part;

    if (length == 0 || strncmp(uri, beginning, length) != 0)
        return false;
    ends_part = strchr("/:", beginning[length - 1]) != NULL;

    /* strchr() also finds the NUL at the end. */
    return ends_part || strchr("/:@", uri[length]);
}

static bool allows_uri(const struct berth_strvec *beginnings, const char *uri)
{
    if (has_step_up(uri))
        return false;
    for (size_t i = 0; i < beginnings->count; i++) {
        const char *beginning = beginnings->items[i];
        bool hides_host = has_user(uri) && !has_user(beginning);

        if (starts_with(uri, beginning) && !hides_host)
            return true;
    }
    return false;
}

int berth_policy_check_uri(const struct berth_site *site, const char *uri,
                           struct berth_err *err)
{
    const struct berth_strvec *uris = &site->images.uris;
    const struct berth_strvec *roots = &site->images.roots;
    bool restricts_images = site->images.has_uris || roots->count > 0;

    if (!uri || !restricts_images || allows_uri(uris, uri))
        return 0;
    if (site->images.has_uris)
        return berth_site_refuse(site, "image", uri, uris, "images.uris", err);
    return berth_site_refuse(site, "image", uri, roots, "images.roots", err);
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
    if (may_set(site, BERTH_RULE_FORCE, is_chosen, berth_libs_need_mpi))
        return true;
    return asked == BERTH_UNSAID &&
           may_set(site, BERTH_RULE_DEFAULT, is_chosen, berth_libs_need_mpi);
}

bool berth_policy_may_last_job(const struct berth_site *site, const char *said)
{
    if (berth_rules_have(site, BERTH_RULE_FORCE, BERTH_OPTION_LIFETIME, NULL))
        return true;
    if (said)
        return is_job(said);
    return berth_rules_have(site, BERTH_RULE_DEFAULT, BERTH_OPTION_LIFETIME, is_job);
}

/* Refuses what REQUEST and its ENVIRONMENT (NULL: not known) ask for, if the site
 * forbids it in JOB (NULL: in each job). Looks at no path of the node. */
static int check_asked(const struct berth_site *site, const struct berth_rules_job *job,
                       const struct berth_request *request, char *const *environment,
                       struct berth_err *err)
{
    if (check_args(site, request, err) < 0)
        return -1;
    if (berth_flags_check_unset(site, &request->args, environment, err) < 0)
        return -1;
    if (berth_rules_refuse(site, job, request, err) < 0)
        return -1;
    if (berth_detours_check(site, job, request, environment, err) < 0)
        return -1;
    if (check_unmounts(site, job, request, err) < 0)
        return -1;
    if (environment && berth_flags_check_environment(site, environment, err) < 0)
        return -1;
    return berth_mountrules_check_flags(site, request, environment, err);
}

int berth_policy_check_early(const struct berth_site *site,
                             const struct berth_request *request,
                             char *const *environment, struct berth_err *err)
{
    if (!berth_request_has_container(request))
        return 0;
    if (check_asked(site, NULL, request, environment, err) < 0)
        return -1;
    if (berth_mountrules_check(site, &request->mounts, NULL, err) < 0)
        return -1;

    /* A rule for this job may replace the image, and which rules are for it is known
     * on the node. */
    if (berth_policy_may_set_image(site))
        return 0;
    return berth_policy_check_uri(site, request->uri, err);
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

/* Does the option ID of RET have a value that is not the user's, who wrote REQUEST? */
static bool is_sites(const struct berth_request *request,
                     const struct berth_request *ret, enum berth_option_id id)
{
    const char *is = berth_request_value(ret, id, 0);
    const char *was = berth_request_value(request, id, 0);

    if (!is)
        return false;
    if (was)
        return strcmp(is, was) != 0;

    /* Options of the user set others, too. */
    if (id == BERTH_OPTION_MPI)
        return !request->libs;
    if (id == BERTH_OPTION_WRITABLE)
        return !request->container_name && request->root != BERTH_YES && !request->save;
    return true;
}

/* Lists in RET which options are not the user's: for explain all of them, else only
 * --mpi-bind. */
static void list_options(const struct berth_request *request, struct berth_request *ret)
{
    bool is_explained = berth_request_is_explained(request);

    for (int i = 0; i < BERTH_OPTION_COUNT; i++) {
        enum berth_option_id id = (enum berth_option_id)i;
        bool is_listed = is_explained || id == BERTH_OPTION_MPI;

        if (berth_options[id].kind == BERTH_KIND_LIST || !is_listed)
            continue;
        if (is_sites(request, ret, id))
            berth_strvec_push_once(&ret->site, berth_options[id].name);
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
    return berth_err_oom_if(ret->failed, err);
}

/* Merges FORCED over REQUEST over the site's defaults. */
static int merge_layers(const struct berth_site *site,
                        const struct berth_policy_facts *facts,
                        const struct berth_request *request,
                        const struct berth_request *forced, struct berth_request *ret,
                        struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec users = {0};

    if (add_defaults(site, facts, ret, err) < 0)
        return -1;
    if (berth_request_merge(ret, request, err) < 0)
        return -1;
    if (berth_request_merge(ret, forced, err) < 0)
        return -1;
    if (list_sources(site, facts, request, &users, err) < 0)
        return -1;

    /* A merge appends lists; here one layer replaces parts of another. */
    berth_strvec_fini(&ret->mounts);
    berth_strvec_fini(&ret->args);
    if (put_mounts(site, facts, &users, &forced->mounts, &ret->mounts, err) < 0)
        return -1;
    if (put_flags(site, &request->args, &forced->args, &ret->args, err) < 0)
        return -1;
    if (berth_request_is_explained(request))
        list_items(request, &users, ret);
    return berth_err_oom_if(ret->mounts.failed, err);
}

/* Checks the mounts of REQUEST with what is known of them on the node. */
static int check_mounts(const struct berth_site *site,
                        const struct berth_policy_facts *facts,
                        const struct berth_request *request, struct berth_err *err)
{
    if (berth_mountrules_check(site, facts->mounts, facts->sources, err) < 0)
        return -1;
    if (!facts->sources)
        return 0;
    return berth_mountrules_check_sources(site, facts->mounts, facts->sources,
                                          request->mounts.count, facts->named, err);
}

/* Refuses a name if the site has FORCED each container to end with its step. */
static int check_name(const struct berth_site *site, const struct berth_request *forced,
                      const struct berth_request *whole, struct berth_err *err)
{
    if (!whole->container_name || !forced->lifetime || is_job(forced->lifetime))
        return 0;
    return berth_err_set(err,
                         "--container-name: a rule of this site ends each container "
                         "with its step (container-lifetime: step in %s); leave it out",
                         site->file);
}

/* Whoever is root in the container installs packages in it, and whoever saves it has
 * changed it: the image of WHOLE can be written to if nobody has said otherwise, and
 * the site does not forbid that. */
static void let_write(const struct berth_site *site, const struct berth_rules_job *job,
                      struct berth_request *whole)
{
    const bool is_meant = whole->root == BERTH_YES || whole->save;

    if (!is_meant || whole->writable != BERTH_UNSAID)
        return;
    if (!berth_rules_forbidden(site, job, BERTH_OPTION_WRITABLE))
        whole->writable = BERTH_YES;
}

/* Lists in RET, for a container with a name, the options that have a value because of a
 * default of rules: a step that joins the container while another runs can do without
 * (job/named.h). What rules have FORCED is not listed. */
static void list_defaults(const struct berth_request *request,
                          const struct berth_request *forced, struct berth_request *ret)
{
    if (!ret->container_name)
        return;
    for (int i = 0; i < BERTH_OPTION_COUNT; i++) {
        enum berth_option_id id = (enum berth_option_id)i;

        if (berth_options[id].kind == BERTH_KIND_LIST ||
            !berth_request_is_from_start(id) || berth_request_value(forced, id, 0))
            continue;
        if (is_sites(request, ret, id))
            berth_strvec_push_once(&ret->site, berth_options[id].name);
    }
}

/* Makes the request that runs: what rules force, over the user's, over defaults. */
static int make_whole(const struct berth_site *site,
                      const struct berth_policy_facts *facts,
                      const struct berth_request *request, struct berth_request *ret,
                      struct berth_err *err)
{
    BERTH_REQUEST struct berth_request forced = {0};

    if (berth_rules_apply(site, &facts->job, BERTH_RULE_FORCE, &forced, err) < 0)
        return -1;
    if (merge_layers(site, facts, request, &forced, ret, err) < 0)
        return -1;
    if (check_name(site, &forced, ret, err) < 0)
        return -1;
    let_write(site, &facts->job, ret);
    list_defaults(request, &forced, ret);
    return berth_request_complete(ret, err);
}

int berth_policy_apply(const struct berth_site *site,
                       const struct berth_policy_facts *facts,
                       const struct berth_request *request, struct berth_request *ret,
                       struct berth_err *err)
{
    BERTH_REQUEST struct berth_request whole = {0};

    if (!berth_request_has_container(request))
        return berth_request_merge(ret, request, err);
    if (berth_rules_check_job(site, &facts->job, err) < 0)
        return -1;
    if (check_asked(site, &facts->job, request, facts->environment, err) < 0)
        return -1;
    if (check_mounts(site, facts, request, err) < 0)
        return -1;
    if (make_whole(site, facts, request, &whole, err) < 0)
        return -1;

    /* The image may be one that a rule forces. */
    if (berth_policy_check_uri(site, whole.uri, err) < 0)
        return -1;
    list_options(request, &whole);
    if (whole.site.failed)
        return berth_err_oom(err);
    *ret = berth_steal(&whole);
    return 0;
}
