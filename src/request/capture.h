/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"

/* Which variables reach a task in an image although Slurm drops them (--export=NONE):
 * those that are on a list here or on the site's, and on no list of denials. */
struct berth_capture_list {
    const char *title;           /* in messages and manuals */
    const char *source;          /* who says that these are its variables */
    const char *const *patterns; /* `*` stands for any text; ended by NULL */
    const char *const *except;   /* of these not; may be NULL */
};

/* The built-in lists, ended by a title of NULL. */
extern const struct berth_capture_list berth_capture_lists[];

/* Names that are never restored: secrets, and paths that are the image's own. Ended by
 * NULL. */
extern const char *const berth_capture_denied[];

/* The site's additions; either may be NULL. A name that is spelled out in CAPTURE wins
 * over the built-in denials; DENY wins over everything. */
struct berth_capture_rules {
    const struct berth_strvec *capture; /* patterns */
    const struct berth_strvec *deny;    /* patterns */
};

/* The list by which NAME is captured; NULL: it is not. */
const struct berth_capture_list *
berth_capture_find(const struct berth_capture_rules *rules, const char *name);

/* Append to RET the variables of ENVIRON that are captured, each NAME=VALUE, sorted by
 * name. ASSIGNED (commandline/export.h) wins over ENVIRON, and the last of several
 * wins. */
int berth_capture_choose(const struct berth_capture_rules *rules, char *const *environ,
                         const struct berth_strvec *assigned, struct berth_strvec *ret,
                         struct berth_err *err);
