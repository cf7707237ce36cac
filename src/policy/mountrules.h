/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/site.h"
#include "request/request.h"

/* A task's directories and environment, which can ask for mounts, too. Borrows
 * everything. */
struct berth_mountrules_task {
    char *const *environment; /* ended by NULL */
    const char *home;         /* NULL: not known */
    const char *directory;    /* its working directory; NULL: gone */
};

/* What the user wants mounted, each SRC:DST:ro|rw, appended to MOUNTS: first that of
 * REQUEST; then the home directory, where REQUEST asks for it; the working directory,
 * which the runtime mounts unasked; and, from *RET_NAMED on, what the environment of
 * TASK asks of the runtime (APPTAINER_BIND), which the runtime mounts by name. */
int berth_mountrules_list(const struct berth_request *request,
                          const struct berth_mountrules_task *task,
                          struct berth_strvec *mounts, size_t *ret_named,
                          struct berth_err *err);

/* If SITE forbids mounts, the target that was checked must be the one that is mounted.
 * The first COUNT of MOUNTS are the request's, and are made from their real path in
 * SOURCES; those from NAMED on are made by name, so their name must be the real path.
 */
int berth_mountrules_check_sources(const struct berth_site *site,
                                   const struct berth_strvec *mounts,
                                   const struct berth_strvec *sources, size_t count,
                                   size_t named, struct berth_err *err);

/* Does SITE let a user make MOUNTS? Forbidden are the paths that the site lists,
 * everything below them and the directories above them, both by name and by SOURCES:
 * the real path of the source of each mount, "" where there is none; NULL: not known.
 * So are destinations at or below one at which the site mounts something itself. */
int berth_mountrules_check(const struct berth_site *site,
                           const struct berth_strvec *mounts,
                           const struct berth_strvec *sources, struct berth_err *err);

/* If SITE restricts mounts, a user may not ask the runtime for them in another way: not
 * in ARGS (where these are not on a list of the site's own), nor from ENVIRONMENT
 * (NULL: not looked at) in a form that berth_mountrules_list() does not read. */
int berth_mountrules_check_flags(const struct berth_site *site,
                                 const struct berth_strvec *args,
                                 char *const *environment, struct berth_err *err);

/* Does LIST have a mount with the destination of the mount TEXT? */
bool berth_mountrules_has_destination(const struct berth_strvec *list,
                                      const char *text);
