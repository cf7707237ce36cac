/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which mounts the MPI or fabric of a request needs besides libraries, and
 * whether a conflict forbids an MPI. Reads nothing. */

#include "site/fabric.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>

#include "base/environ.h"
#include "base/text.h"
#include "request/mount.h"
#include "site/mountrules.h"

bool berth_fabric_is_named(const struct berth_profile *profile,
                           const struct berth_request *request)
{
    return berth_request_lists_library(request, profile->name) ||
           berth_request_lists_library(request, profile->stack);
}

bool berth_fabric_may_use(const struct berth_profile *profile,
                          const struct berth_request *request)
{
    switch (profile->kind) {
    case BERTH_PROFILE_MPI:
        if (!berth_request_mpi_may_host(request))
            return false;
        if (!berth_request_mpi_is(request, BERTH_MODE_NAME))
            return true;
        return berth_profile_is_called(profile, request->mpi);
    case BERTH_PROFILE_FABRIC:
        return berth_fabric_is_named(profile, request) ||
               berth_request_has_auto_libs(request);
    default:
        return berth_fabric_is_named(profile, request);
    }
}

/* Appends what PROFILE binds, unless something else is mounted there. */
static int list_binds(const struct berth_profile *profile, struct berth_strvec *binds,
                      struct berth_err *err)
{
    const char *const *bind = profile->binds;

    for (; bind && *bind; bind++) {
        if (berth_mountrules_has_destination(binds, *bind, &binds->failed))
            continue;
        if (berth_mount_append(*bind, NULL, binds, err) < 0)
            return berth_err_at(err, "profile '%s': binds", profile->name);
    }
    return 0;
}

int berth_fabric_list(const struct berth_profile *profiles,
                      const struct berth_request *request, struct berth_strvec *binds,
                      struct berth_strvec *devices, struct berth_err *err)
{
    for (; profiles->name; profiles++) {
        const char *const *device = profiles->devices;

        if (!berth_fabric_may_use(profiles, request))
            continue;
        if (list_binds(profiles, binds, err) < 0)
            return -1;
        for (; device && *device; device++)
            berth_strvec_push_once(devices, *device);
    }
    return berth_err_oom_if(binds->failed || devices->failed, err);
}

/* Does ENV have a variable NAME, or NAME with a value like PATTERN, as RULE (NAME or
 * NAME=PATTERN) says? Values that berth sets do not count. */
static bool is_set(char *const *env, const char *rule)
{
    const char *value = berth_environ_value(env, rule);
    const char *pattern = strchr(rule, '=');

    if (!value || berth_text_starts(value, "/.berth/"))
        return false;
    return !pattern || fnmatch(pattern + 1, value, 0) == 0;
}

static const char *find_library(const struct berth_closure *closure,
                                const char *pattern)
{
    for (size_t i = 0; i < closure->count; i++)
        if (fnmatch(pattern, closure->items[i].soname, 0) == 0)
            return closure->items[i].soname;
    return NULL;
}

static int refuse_conflict(const struct berth_fabric *fabric, const char *what,
                           struct berth_err *err)
{
    return berth_err_set(err,
                         "the host's %s does not go with '%s' (profile '%s'); unset or "
                         "unload it, or choose --mpi-bind=hybrid",
                         fabric->version, what, fabric->profile->name);
}

static int check_conflicts(const struct berth_fabric *fabric, struct berth_err *err)
{
    const struct berth_profile *profile = fabric->profile;
    const char *const *rule = profile->conflicts.variables;
    const char *const *pattern = profile->conflicts.libraries;

    for (; rule && *rule; rule++)
        if (is_set(fabric->env, *rule))
            return refuse_conflict(fabric, *rule, err);
    for (; pattern && *pattern; pattern++) {
        const char *library = find_library(fabric->closure, *pattern);

        if (library)
            return refuse_conflict(fabric, library, err);
    }
    return 0;
}

int berth_fabric_check(const struct berth_fabric *fabric, struct berth_err *err)
{
    bool is_mpi = fabric->profile->kind == BERTH_PROFILE_MPI;
    bool needs_glibc = fabric->verdict->answer == BERTH_VERDICT_YES_WITH_HOST_GLIBC;
    const char *choice = is_mpi ? ", or choose --mpi-bind=hybrid" : "";

    if (needs_glibc && fabric->keep_glibc)
        return berth_err_set(err,
                             "%s, which this site does not allow (%s); build the "
                             "image on a newer distribution%s",
                             fabric->verdict->because.text, fabric->keep_glibc, choice);
    if (!is_mpi)
        return 0;
    return check_conflicts(fabric, err);
}
