/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "site/site.h"

/* Checks the words ARGS of a user for the runtime against runtime.raw_args of SITE. A
 * pattern (fnmatch(3)) without a space allows one word that starts with `-`; a pattern
 * with a space allows a flag and the next word, its value. `*`, `?` and `[]` do not
 * match `,`, `:` or a component `..`, so that a user cannot append a second value to an
 * allowed one. Returns 0, or -1 with a sentence in ERR that names the place in
 * berth.yaml. */
int berth_flags_check_args(const struct berth_site *site,
                           const struct berth_strvec *args, struct berth_err *err);

/* The same for the variables of ENVIRONMENT (ended by NULL) that the runtime reads as
 * flags: APPTAINER_NAME=VALUE is --name=VALUE, or --name if the value is 1, yes, true
 * or on. */
int berth_flags_check_environment(const struct berth_site *site,
                                  char *const *environment, struct berth_err *err);

/* Appends to RET the words ARGS of a user, after which flags of the site follow, so
 * that these win whatever ARGS are: the last of two flags wins. A value is joined to
 * its flag
 * (--env=A=1), because a word that is no value would be the image, after which the
 * runtime reads no flags. A last flag that lacks its value takes --disable-cache, which
 * means nothing for the file of an image. Returns 0, or -1 with a sentence in ERR for a
 * word that can only be an image. */
int berth_flags_close(const struct berth_strvec *args, struct berth_strvec *ret,
                      struct berth_err *err);

/* Refuses flags of a user, in ARGS and in ENVIRONMENT (NULL: not known), that set a
 * variable which SITE unsets in every container, or read variables from a file. */
int berth_flags_check_unset(const struct berth_site *site,
                            const struct berth_strvec *args, char *const *environment,
                            struct berth_err *err);

/* TEXT (NAME=VALUE or NAME) after APPTAINER_ or SINGULARITY_, if the runtime reads the
 * variable as a flag; else NULL. */
const char *berth_flags_variable(const char *text);
