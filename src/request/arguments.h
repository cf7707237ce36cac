/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "request/option.h"
#include "request/slurmoption.h"

/* Reads the arguments of srun, sbatch or salloc as getopt_long(3) does for them: long
 * options and their abbreviations, groups of short ones (-lN2), `--`, and the command.
 * A `:` ends a component. The options of other plugins are not known. */

/* Where the reading is. Borrows everything. */
struct berth_arguments {
    enum berth_slurm_program program;
    const char *prefix;  /* the site's, of our options; NULL: any */
    char *const *next;   /* the next argument; at first the one after argv[0] */
    char *const *end;    /* after the last one */
    const char *letters; /* the rest of a group of short options; NULL: none */
};

/* An option and its value, or the command of a component. */
struct berth_argument {
    const char *name;  /* a long option as typed, --NAME or --NAME=VALUE; else NULL */
    char letter;       /* a short option; else 0 */
    const char *value; /* of an option; NULL: none */
    const struct berth_slurm_option *slurm; /* Slurm's option; NULL: not one of it */
    const struct berth_option *ours;        /* our option; NULL: not one of ours */
    char *const *command;                   /* the command; NULL: an option */
};

/* Begins to read ARGV, ended by NULL, of which argv[0] is the program. PREFIX as in
 * struct berth_arguments. */
struct berth_arguments berth_arguments_begin(char *const *argv, const char *prefix);

/* Reads the next option or command. Returns false at the end. *RET points into the
 * arguments. An option that is not known takes the next argument as its value, unless
 * that begins with a dash. */
bool berth_arguments_next(struct berth_arguments *arguments,
                          struct berth_argument *ret);

/* Is ARGUMENT Slurm's option NAME? */
bool berth_argument_is(const struct berth_argument *argument, const char *name);

/* Is ARGUMENT our option ID? */
bool berth_argument_is_ours(const struct berth_argument *argument,
                            enum berth_option_id id);

/* The option of ours that TEXT, --NAME or --NAME=VALUE, names in full; NULL: none.
 * PREFIX as in struct berth_arguments. */
const struct berth_option *berth_argument_find_ours(const char *text,
                                                    const char *prefix);
