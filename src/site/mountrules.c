/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which mounts a site allows its users, in every way in which users can ask for
 * them. Reads no file: the real paths of sources are facts of the caller. */

#include "site/mountrules.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "site/flags.h"
#include "request/mount.h"
#include "request/path.h"

/* Appends the mounts of VALUE, SRC[:DST[:OPTIONS]][,...] as the runtime reads it. */
static int list_binds(const char *value, const char *directory,
                      struct berth_strvec *mounts, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec items = {0};

    berth_strvec_split(&items, value);
    for (size_t i = 0; i < items.count; i++) {
        char *rest = items.items[i];
        const char *source = strsep(&rest, ":");
        const char *destination = rest ? strsep(&rest, ":") : source;
        BERTH_FREE char *path = NULL;

        if (*source == '\0')
            continue;
        if (berth_path_absolute(source, directory ? directory : "/", &path, err) < 0)
            return -1;
        berth_strvec_pushf(mounts, "%s:%s%s:%s", path, *destination == '/' ? "" : "/",
                           destination, rest && strcmp(rest, "ro") == 0 ? "ro" : "rw");
    }
    return items.failed ? berth_err_oom(err) : 0;
}

/* The destination of the mount TEXT, clean; NULL when there is none. */
static char *place_of(const char *text, bool *ret_failed)
{
    BERTH_MOUNT struct berth_mount mount = {0};
    struct berth_err why;
    char *clean;

    if (berth_mount_parse(text, NULL, &mount, &why) < 0) {
        *ret_failed |= why.code == BERTH_ERR_MEMORY;
        return NULL;
    }
    clean = berth_path_clean(mount.destination);
    *ret_failed |= !clean;
    return clean;
}

static bool is_flag(const char *flag, const char *name)
{
    size_t length = strlen(name);

    return strncmp(flag, name, length) == 0 && flag[length] == '=';
}

static bool is_bind(const char *flag)
{
    return is_flag(flag, "BIND") || is_flag(flag, "BINDPATH");
}

int berth_mountrules_variables(const struct berth_mountrules_task *task,
                               struct berth_strvec *mounts, struct berth_err *err)
{
    for (char *const *item = task->environment; *item; item++) {
        const char *flag = berth_flags_variable(*item);

        if (flag && is_bind(flag) &&
            list_binds(strchr(flag, '=') + 1, task->directory, mounts, err) < 0)
            return -1;
    }
    return 0;
}

bool berth_mountrules_cut(const char *item, const char *directory,
                          bool (*has)(const void *data, const char *place),
                          const void *data, struct berth_buf *ret)
{
    const char *flag = berth_flags_variable(item);
    BERTH_STRVEC struct berth_strvec binds = {0};
    const char *separator = "";

    if (!flag || !is_bind(flag))
        return false;
    berth_strvec_split(&binds, strchr(flag, '=') + 1);
    ret->failed |= binds.failed;
    berth_buf_addf(ret, "%.*s=", (int)strcspn(item, "="), item);
    for (size_t i = 0; i < binds.count; i++) {
        BERTH_STRVEC struct berth_strvec mounts = {0};
        BERTH_FREE char *place = NULL;

        /* one that berth reads otherwise than the runtime stays */
        if (!strchr(item, '\\') &&
            list_binds(binds.items[i], directory, &mounts, NULL) == 0 && mounts.count)
            place = place_of(mounts.items[0], &ret->failed);
        if (place && has(data, place))
            continue;
        berth_buf_addf(ret, "%s%s", separator, binds.items[i]);
        separator = ",";
    }
    return true;
}

int berth_mountrules_list(const struct berth_request *request,
                          const struct berth_mountrules_task *task,
                          struct berth_strvec *mounts, size_t *ret_named,
                          struct berth_err *err)
{
    berth_strvec_append(mounts, &request->mounts);
    if (request->home == BERTH_YES && task->home && *task->home == '/')
        berth_strvec_pushf(mounts, "%s:%s:rw", task->home, task->home);
    if (task->directory && strcmp(task->directory, "/") != 0 &&
        request->home != BERTH_NO)
        berth_strvec_pushf(mounts, "%s:%s:rw", task->directory, task->directory);
    *ret_named = mounts->count;
    if (berth_mountrules_variables(task, mounts, err) < 0)
        return -1;
    return mounts->failed ? berth_err_oom(err) : 0;
}

/* The forbidden path that PATH is, is in, or contains; NULL: there is none. */
static const char *find_forbidden(const struct berth_site *site, const char *path,
                                  bool *ret_failed)
{
    const struct berth_strvec *forbidden = &site->mounts.forbidden;
    BERTH_FREE char *clean = berth_path_clean(path);

    for (size_t i = 0; i < forbidden->count; i++) {
        BERTH_FREE char *other = berth_path_clean(forbidden->items[i]);

        if (!clean || !other) {
            *ret_failed = true;
            return NULL;
        }
        if (berth_path_is_within(clean, other) || berth_path_is_within(other, clean))
            return forbidden->items[i];
    }
    return NULL;
}

/* Would MOUNT change what OTHER, a mount of the site, shows at its destination? */
static bool changes(const struct berth_mount *mount, const struct berth_mount *other,
                    bool *ret_failed)
{
    BERTH_FREE char *place = berth_path_clean(mount->destination);
    BERTH_FREE char *source = berth_path_clean(mount->source);
    BERTH_FREE char *above = berth_path_clean(other->destination);
    BERTH_FREE char *from = berth_path_clean(other->source);

    if (!place || !source || !above || !from) {
        *ret_failed = true;
        return false;
    }
    if (!berth_path_is_within(place, above))
        return false;
    return mount->mode == BERTH_MOUNT_SQSH || !berth_path_is_within(source, from) ||
           strcmp(place + strlen(above), source + strlen(from)) != 0;
}

/* The mount of the site that MOUNT would change; NULL: none. */
static const char *find_forced(const struct berth_site *site,
                               const struct berth_mount *mount, bool *ret_failed)
{
    const struct berth_strvec *forced = &site->mounts.forced;

    for (size_t i = 0; i < forced->count; i++) {
        BERTH_MOUNT struct berth_mount other = {0};
        struct berth_err why;

        if (berth_mount_parse(forced->items[i], NULL, &other, &why) < 0)
            *ret_failed |= why.code == BERTH_ERR_MEMORY;
        else if (changes(mount, &other, ret_failed))
            return forced->items[i];
    }
    return NULL;
}

static int check_mount(const struct berth_site *site, const char *text,
                       const char *real, struct berth_err *err)
{
    BERTH_MOUNT struct berth_mount mount = {0};
    const char *found, *forced;
    bool failed = false;

    if (berth_mount_parse(text, NULL, &mount, err) < 0)
        return berth_err_at(err, "--container-mounts");
    found = find_forbidden(site, mount.source, &failed);
    if (!found && *real)
        found = find_forbidden(site, real, &failed);
    if (!found)
        found = find_forbidden(site, mount.destination, &failed);
    forced = found ? NULL : find_forced(site, &mount, &failed);
    if (failed)
        return berth_err_oom(err);
    if (found) {
        berth_err_set(
            err,
            "mount '%s': this site forbids '%s', everything in it and the directories "
            "above it; leave the mount out, or start in another directory if this is "
            "the working directory",
            text, found);
        return berth_site_cite(site, "mounts.forbidden", found, err);
    }
    if (forced) {
        berth_err_set(err,
                      "mount '%s': this site itself mounts '%s' there; choose another "
                      "place in the image",
                      text, forced);
        return berth_site_cite(site, "mounts.forced", forced, err);
    }
    return 0;
}

int berth_mountrules_check(const struct berth_site *site,
                           const struct berth_strvec *mounts,
                           const struct berth_strvec *sources, struct berth_err *err)
{
    if (site->mounts.forbidden.count == 0 && site->mounts.forced.count == 0)
        return 0;
    for (size_t i = 0; i < mounts->count; i++)
        if (check_mount(site, mounts->items[i],
                        sources && i < sources->count ? sources->items[i] : "",
                        err) < 0)
            return -1;
    return 0;
}

static int refuse_source(const char *text, const char *real, struct berth_err *err)
{
    return berth_err_set(
        err,
        "mount '%s': its source is really '%s', which this site does "
        "not mount; create it before the step, and give its real path, "
        "without ':', with --container-mounts",
        text, real);
}

/* Checks REAL, the real path of the source of the mount TEXT. IS_NAMED: the runtime
 * mounts by name. */
static int check_source(const char *text, const char *real, bool is_named,
                        struct berth_err *err)
{
    BERTH_MOUNT struct berth_mount mount = {0};
    BERTH_FREE char *clean = NULL;

    if (!*real || strchr(real, ':'))
        return refuse_source(text, real, err);
    if (!is_named)
        return 0;
    if (berth_mount_parse(text, NULL, &mount, err) < 0)
        return -1;
    clean = berth_path_clean(mount.source);
    if (clean && strcmp(clean, real) == 0)
        return 0;
    return refuse_source(text, real, err);
}

int berth_mountrules_check_sources(const struct berth_site *site,
                                   const struct berth_strvec *mounts,
                                   const struct berth_strvec *sources, size_t count,
                                   size_t named, struct berth_err *err)
{
    if (site->mounts.forbidden.count == 0)
        return 0;
    for (size_t i = 0; i < mounts->count; i++)
        if ((i < count || i >= named) &&
            check_source(mounts->items[i], sources->items[i], i >= named, err) < 0)
            return berth_site_cite(site, "mounts.forbidden", "", err);
    return 0;
}

/* Flags of the runtime that mount something; list_variables() reads the first. */
static const char *const mounting[] = {
    "BIND",        "MOUNT",   "HOME",        "OVERLAY",  "OVERLAYIMAGE",
    "WORKDIR",     "SCRATCH", "SCRATCHDIR",  "FUSESPEC", "FUSEMOUNT",
    "CONTAINLIBS", "DATA",    "CONFIG_FILE", "DEVICE",
};

enum { MOUNTING = sizeof(mounting) / sizeof(mounting[0]) };

/* Does WORD mount something: a long flag of that name, or a cluster of short ones with
 * -B, -H, -o, -S or -W in it? */
static bool is_mounting(const char *word)
{
    if (!berth_text_starts(word, "--"))
        return *word == '-' && strpbrk(word, "BHoSW");
    for (int i = 0; i < MOUNTING; i++) {
        size_t length = strlen(mounting[i]);

        if (strncasecmp(word + 2, mounting[i], length) == 0 &&
            (word[2 + length] == '=' || word[2 + length] == '\0'))
            return true;
    }
    return false;
}

/* Sets the sentence, with the place of the setting that restricts mounts. */
static void refuse_hidden(const struct berth_site *site, struct berth_err *err)
{
    berth_err_set(err, "this site restricts mounts, and takes them from "
                       "--container-mounts only; leave it out");
    berth_site_cite(site,
                    site->mounts.forbidden.count ? "mounts.forbidden" : "mounts.forced",
                    "", err);
}

/* Does the variable FLAG (NAME=VALUE) mount something in a way that list_variables()
 * does not read? In the value of BIND a backslash would hide a `:` or `,`. */
static bool is_hidden_mount(const char *flag)
{
    for (int i = 1; i < MOUNTING; i++)
        if (is_flag(flag, mounting[i]))
            return true;
    return is_bind(flag) && strchr(flag, '\\');
}

static int check_devices(const struct berth_site *site,
                         const struct berth_request *request, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec devices = {0};

    berth_request_list_devices(request, &devices);
    if (devices.failed)
        return berth_err_oom(err);
    if (devices.count == 0)
        return 0;
    refuse_hidden(site, err);
    return berth_err_at(err, "--container-gpu: '%s'", devices.items[0]);
}

static int check_words(const struct berth_site *site, const struct berth_strvec *args,
                       struct berth_err *err)
{
    for (size_t i = 0; i < args->count; i++)
        if (is_mounting(args->items[i])) {
            refuse_hidden(site, err);
            return berth_err_at(err, "--container-args: '%s'", args->items[i]);
        }
    return 0;
}

int berth_mountrules_check_flags(const struct berth_site *site,
                                 const struct berth_request *request,
                                 char *const *environment, struct berth_err *err)
{
    if (site->mounts.forbidden.count == 0 && site->mounts.forced.count == 0)
        return 0;
    if (check_devices(site, request, err) < 0 ||
        (site->runtime.raw == BERTH_RAW_ANY &&
         check_words(site, &request->args, err) < 0))
        return -1;
    for (; environment && *environment; environment++) {
        const char *flag = berth_flags_variable(*environment);

        if (!flag || !is_hidden_mount(flag))
            continue;
        refuse_hidden(site, err);
        return berth_err_at(err, "%.*s", (int)strcspn(*environment, "="), *environment);
    }
    return 0;
}

bool berth_mountrules_has_destination(const struct berth_strvec *list, const char *text,
                                      bool *ret_failed)
{
    BERTH_FREE char *place = place_of(text, ret_failed);

    for (size_t i = 0; place && i < list->count; i++) {
        BERTH_FREE char *other = place_of(list->items[i], ret_failed);

        if (other && strcmp(place, other) == 0)
            return true;
    }
    return false;
}
