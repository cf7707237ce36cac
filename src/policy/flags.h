/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "site/site.h"

/* May a user of SITE give the runtime the words ARGS? A list allows whole words: a
 * pattern without a space one word, which has to start with `-`; a pattern with a space
 * a flag and the word behind it, which is its value. In a pattern `*` and its like
 * (fnmatch(3)) do not match `,`, `:` or a component `..`, so that no second value gets
 * in behind an allowed one. */
int berth_flags_check_args(const struct berth_site *site,
                           const struct berth_strvec *args, struct berth_err *err);

/* The same for flags that ENVIRONMENT (ended by NULL) gives to the runtime:
 * APPTAINER_NAME=VALUE is --name=VALUE, and --name where the value is 1, yes, true or
 * on. */
int berth_flags_check_environment(const struct berth_site *site,
                                  char *const *environment, struct berth_err *err);

/* The part of the variable TEXT (NAME=VALUE or NAME) behind APPTAINER_ or SINGULARITY_,
 * where it is a flag; else NULL. */
const char *berth_flags_variable(const char *text);
