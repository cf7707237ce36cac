/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"

/* What srun's --export, or the variable that stands for it, does to the environment of
 * a component (_build_user_env() in srun's launch.c): a list of words, separated by
 * commas outside of quotes. ALL passes everything; NONE ends the list, and Slurm
 * ignores the words behind it; NAME=VALUE sets, NAME passes. NIL is not a special word
 * here: like any list without ALL it passes variables that begin with SLURM. */
struct berth_export {
    bool all;                     /* Slurm drops nothing */
    struct berth_strvec assigned; /* each NAME=VALUE, also those behind NONE */
};

/* Read VALUE; NULL: nothing was said, which means ALL. On success the caller owns *RET.
 */
int berth_export_read(const char *value, struct berth_export *ret,
                      struct berth_err *err);

void berth_export_fini(struct berth_export *export);

#define BERTH_EXPORT __attribute__((cleanup(berth_export_fini)))
