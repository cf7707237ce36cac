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

/* TEXT (NAME=VALUE or NAME) after APPTAINER_ or SINGULARITY_, if the runtime reads the
 * variable as a flag; else NULL. */
const char *berth_flags_variable(const char *text);
