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
