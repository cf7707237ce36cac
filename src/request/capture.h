/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"

/* The effect of srun's --export, or of its variable, on the environment of a component
 * (_build_user_env() in srun's launch.c). The value is a list of words, separated by
 * commas outside of quotes. ALL passes all variables. NONE ends the list: Slurm ignores
 * the words after it. NAME=VALUE sets a variable, NAME passes one. NIL needs no case
 * here: like each list without ALL it passes the variables that begin with SLURM. */
struct berth_export {
    bool all;                     /* Slurm drops nothing */
    struct berth_strvec assigned; /* each NAME=VALUE, also those after NONE */
};

/* Reads VALUE of --export; NULL: no --export, which means ALL. On success the caller
 * owns *RET (berth_export_fini). Returns -1 out of memory. */
int berth_export_read(const char *value, struct berth_export *ret,
                      struct berth_err *err);

void berth_export_fini(struct berth_export *export);

#define BERTH_EXPORT __attribute__((cleanup(berth_export_fini)))

/* The variables that reach a task in an image although Slurm drops them
 * (--export=NONE): those on a built-in list or on the site's, unless a list denies
 * them. */
struct berth_capture_list {
    const char *title;           /* in messages and manuals */
    const char *source;          /* the document that lists the variables */
    const char *const *patterns; /* `*` matches any text; ended by NULL */
    const char *const *except; /* matched by PATTERNS, but not captured; may be NULL */
};

/* The built-in lists, ended by a title of NULL. */
extern const struct berth_capture_list berth_capture_lists[];

/* Names that no pattern captures, of the built-in lists or of the site: secrets, and
 * search paths, which the image sets. Ended by NULL. */
extern const char *const berth_capture_denied[];

/* The lists of the site; either may be NULL. A name that CAPTURE has without a pattern
 * wins over the built-in denials; DENY wins over everything. */
struct berth_capture_rules {
    const struct berth_strvec *capture; /* patterns */
    const struct berth_strvec *deny;    /* patterns */
};

/* The list that captures NAME; NULL: none, or NAME is not the name of a variable. */
const struct berth_capture_list *
berth_capture_find(const struct berth_capture_rules *rules, const char *name);

/* Adds to RET the captured variables of ENVIRON (ended by NULL), each NAME=VALUE, and
 * sorts RET. A variable that RET has stays; one of ASSIGNED (struct berth_export) wins
 * over that of ENVIRON, a later one over an earlier one. Returns -1 out of memory. */
int berth_capture_choose(const struct berth_capture_rules *rules, char *const *environ,
                         const struct berth_strvec *assigned, struct berth_strvec *ret,
                         struct berth_err *err);
