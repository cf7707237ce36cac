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

/* Appends the mount that ITEM, SRC[:DST[:OPTIONS]], is for the runtime. ITEM is
 * overwritten; one without a source is no mount. */
static int list_bind(char *item, const char *directory, struct berth_strvec *mounts,
                     struct berth_err *err)
{
    char *rest = item;
    const char *source = strsep(&rest, ":");
    const char *destination = rest ? strsep(&rest, ":") : source;
    const char *root = *destination == '/' ? "" : "/";
    bool is_readonly = rest && strcmp(rest, "ro") == 0;
    BERTH_FREE char *path = NULL;

    if (*source == '\0')
        return 0;
    if (berth_path_absolute(source, directory ? directory : "/", &path, err) < 0)
        return -1;
    berth_strvec_pushf(mounts, "%s:%s%s:%s", path, root, destination,
                       is_readonly ? "ro" : "rw");
    return 0;
}

/* Appends the mounts of VALUE, SRC[:DST[:OPTIONS]][,...] as the runtime reads it. */
static int list_binds(const char *value, const char *directory,
                      struct berth_strvec *mounts, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec items = {0};

    berth_strvec_split(&items, value);
    for (size_t i = 0; i < items.count; i++)
        if (list_bind(items.items[i], directory, mounts, err) < 0)
            return -1;
    return berth_err_oom_if(items.failed, err);
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

/* Where BIND, one of the mounts in a variable, is mounted; NULL: berth cannot tell. */
static char *place_of_bind(const char *bind, const char *directory, bool *ret_failed)
{
    BERTH_STRVEC struct berth_strvec mounts = {0};
    struct berth_err why;

    if (list_binds(bind, directory, &mounts, &why) < 0) {
        *ret_failed |= why.code == BERTH_ERR_MEMORY;
        return NULL;
    }
    *ret_failed |= mounts.failed;
    if (mounts.count == 0)
        return NULL;
    return place_of(mounts.items[0], ret_failed);
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
        BERTH_FREE char *place = NULL;

        /* A backslash hides a `:` or `,` from the runtime, but not from berth: such a
         * mount stays. */
        if (!strchr(item, '\\'))
            place = place_of_bind(binds.items[i], directory, &ret->failed);
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
    const char *home = task->home;
    const char *directory = task->directory;

    berth_strvec_append(mounts, &request->mounts);
    if (request->home == BERTH_YES && home && *home == '/')
        berth_strvec_pushf(mounts, "%s:%s:rw", home, home);
    if (request->home != BERTH_NO && directory && strcmp(directory, "/") != 0)
        berth_strvec_pushf(mounts, "%s:%s:rw", directory, directory);
    *ret_named = mounts->count;
    if (berth_mountrules_variables(task, mounts, err) < 0)
        return -1;
    return berth_err_oom_if(mounts->failed, err);
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
    const char *place_below, *source_below;

    if (!place || !source || !above || !from) {
        *ret_failed = true;
        return false;
    }
    /* with a directory goes what is mounted below it */
    if (mount->mode == BERTH_MOUNT_UMOUNT && berth_path_is_within(above, place))
        return true;
    if (!berth_path_is_within(place, above))
        return false;
    if (mount->mode == BERTH_MOUNT_SQSH || !berth_mount_has_source(mount->mode))
        return true;
    if (!berth_path_is_within(source, from))
        return true;

    /* The same file at the same place changes nothing. */
    place_below = place + strlen(above);
    source_below = source + strlen(from);
    return strcmp(place_below, source_below) != 0;
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

/* Checks that MOUNT, written as TEXT, shows nothing that the site forbids, and hides
 * nothing that is forbidden. REAL is the real path of its source; "": not known. */
static int check_forbidden(const struct berth_site *site,
                           const struct berth_mount *mount, const char *text,
                           const char *real, struct berth_err *err)
{
    bool failed = false;
    const char *found = NULL;

    if (berth_mount_has_source(mount->mode))
        found = find_forbidden(site, mount->source, &failed);
    if (!found && *real)
        found = find_forbidden(site, real, &failed);
    if (!found)
        found = find_forbidden(site, mount->destination, &failed);
    if (failed)
        return berth_err_oom(err);
    if (!found)
        return 0;
    berth_err_set(err,
                  "mount '%s': this site forbids '%s', everything in it and the "
                  "directories above it; leave the mount out, or start in another "
                  "directory if this is the working directory",
                  text, found);
    return berth_site_cite(site, "mounts.forbidden", found, err);
}

/* Checks that MOUNT, written as TEXT, leaves the site's mounts as they are. */
static int check_forced(const struct berth_site *site, const struct berth_mount *mount,
                        const char *text, struct berth_err *err)
{
    bool failed = false;
    const char *forced = find_forced(site, mount, &failed);

    if (failed)
        return berth_err_oom(err);
    if (!forced)
        return 0;
    berth_err_set(err,
                  "mount '%s': this site itself mounts '%s' there; choose another "
                  "place in the image",
                  text, forced);
    return berth_site_cite(site, "mounts.forced", forced, err);
}

static int check_mount(const struct berth_site *site, const char *text,
                       const char *real, struct berth_err *err)
{
    BERTH_MOUNT struct berth_mount mount = {0};

    if (berth_mount_parse(text, NULL, &mount, err) < 0)
        return berth_err_at(err, "--container-mounts");
    if (check_forbidden(site, &mount, text, real, err) < 0)
        return -1;
    return check_forced(site, &mount, text, err);
}

static bool restricts_mounts(const struct berth_site *site)
{
    return site->mounts.forbidden.count > 0 || site->mounts.forced.count > 0;
}

int berth_mountrules_check(const struct berth_site *site,
                           const struct berth_strvec *mounts,
                           const struct berth_strvec *sources, struct berth_err *err)
{
    if (!restricts_mounts(site))
        return 0;
    for (size_t i = 0; i < mounts->count; i++) {
        bool is_known = sources && i < sources->count;
        const char *real = is_known ? sources->items[i] : "";

        if (check_mount(site, mounts->items[i], real, err) < 0)
            return -1;
    }
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

    if (berth_mount_parse(text, NULL, &mount, err) < 0)
        return -1;
    if (!berth_mount_has_source(mount.mode))
        return 0;
    if (!*real || strchr(real, ':'))
        return refuse_source(text, real, err);
    if (!is_named)
        return 0;
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
    for (size_t i = 0; i < mounts->count; i++) {
        bool is_users = i < count;
        bool is_named = i >= named;

        if (!is_users && !is_named)
            continue;
        if (check_source(mounts->items[i], sources->items[i], is_named, err) < 0)
            return berth_site_cite(site, "mounts.forbidden", "", err);
    }
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
    const char *name = word + 2;

    if (!berth_text_starts(word, "--"))
        return *word == '-' && strpbrk(word, "BHoSW");
    for (int i = 0; i < MOUNTING; i++) {
        size_t length = strlen(mounting[i]);

        if (strcspn(name, "=") == length && strncasecmp(name, mounting[i], length) == 0)
            return true;
    }
    return false;
}

/* Sets the sentence, with the place of the setting that restricts mounts. */
static void refuse_hidden(const struct berth_site *site, struct berth_err *err)
{
    const char *key =
        site->mounts.forbidden.count > 0 ? "mounts.forbidden" : "mounts.forced";

    berth_err_set(err, "this site restricts mounts, and takes them from "
                       "--container-mounts only; leave it out");
    berth_site_cite(site, key, "", err);
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

static int check_args(const struct berth_site *site, const struct berth_strvec *args,
                      struct berth_err *err)
{
    for (size_t i = 0; i < args->count; i++) {
        if (!is_mounting(args->items[i]))
            continue;
        refuse_hidden(site, err);
        return berth_err_at(err, "--container-args: '%s'", args->items[i]);
    }
    return 0;
}

int berth_mountrules_check_flags(const struct berth_site *site,
                                 const struct berth_request *request,
                                 char *const *environment, struct berth_err *err)
{
    if (!restricts_mounts(site))
        return 0;
    if (check_devices(site, request, err) < 0)
        return -1;

    /* A list of allowed flags is the site's own decision about each of them. */
    if (site->runtime.raw == BERTH_RAW_ANY && check_args(site, &request->args, err) < 0)
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
