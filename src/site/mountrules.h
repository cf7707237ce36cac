/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"
#include "site/site.h"
#include "request/request.h"

/* The directories and the environment of a task, by which the runtime adds mounts.
 * Borrows everything. */
struct berth_mountrules_task {
    char *const *environment; /* ended by NULL */
    const char *home;         /* NULL: not known */
    const char *directory;    /* the working directory; NULL: it does not exist */
};

/* Appends all mounts of a user to MOUNTS, each SRC:DST:ro|rw|sqsh: those of REQUEST,
 * the home directory if REQUEST asks for it, the working directory, which the runtime
 * mounts by itself, and from index *RET_NAMED on those of APPTAINER_BIND and its like
 * in the environment of TASK, which the runtime mounts by name. Returns -1 with a
 * sentence in ERR for a wrong path. */
int berth_mountrules_list(const struct berth_request *request,
                          const struct berth_mountrules_task *task,
                          struct berth_strvec *mounts, size_t *ret_named,
                          struct berth_err *err);

/* Appends only the mounts of the last kind. */
int berth_mountrules_variables(const struct berth_mountrules_task *task,
                               struct berth_strvec *mounts, struct berth_err *err);

/* If ITEM (NAME=VALUE of an environment) is such a variable, appends it to RET without
 * the mounts whose place, with DIRECTORY as that of relative paths, HAS says is taken;
 * DATA is for HAS. Returns whether it did. */
bool berth_mountrules_cut(const char *item, const char *directory,
                          bool (*has)(const void *data, const char *place),
                          const void *data, struct berth_buf *ret);

/* If SITE forbids mounts, checks that the source that was checked is the one that is
 * mounted. SOURCES are the real paths of MOUNTS. berth mounts the first COUNT of
 * MOUNTS, those of the request, by these paths, which must exist and have no `:`. The
 * runtime mounts those from index NAMED on by name, so that their name must be the real
 * path. */
int berth_mountrules_check_sources(const struct berth_site *site,
                                   const struct berth_strvec *mounts,
                                   const struct berth_strvec *sources, size_t count,
                                   size_t named, struct berth_err *err);

/* Checks the MOUNTS of a user against SITE. A source, a destination or a real path may
 * not be a path of mounts.forbidden, be in one, or contain one. A mount may not change
 * what a mount of mounts.forced shows at its destination. SOURCES are the real paths of
 * the sources, "" for one that does not exist; NULL: not known. Returns 0, or -1 with a
 * sentence in ERR that names the place in berth.yaml. */
int berth_mountrules_check(const struct berth_site *site,
                           const struct berth_strvec *mounts,
                           const struct berth_strvec *sources, struct berth_err *err);

/* If SITE restricts mounts, refuses flags of the runtime that mount something: those of
 * REQUEST, unless the site has a list of allowed flags, devices, which mount what a
 * specification says, and those in ENVIRONMENT (NULL: not known), except in the form
 * that berth_mountrules_list() reads. */
int berth_mountrules_check_flags(const struct berth_site *site,
                                 const struct berth_request *request,
                                 char *const *environment, struct berth_err *err);

/* Does a mount of LIST have the destination of the mount TEXT? No if TEXT is not a
 * mount. Out of memory: no, and *RET_FAILED is true, which is else as it was. */
bool berth_mountrules_has_destination(const struct berth_strvec *list, const char *text,
                                      bool *ret_failed);
