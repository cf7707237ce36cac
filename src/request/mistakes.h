/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "request/hetgroup.h"

/* Command lines that Slurm accepts, but that do not do what the user means: the program
 * runs on the host, or gets options that were meant for srun. The caller warns of what
 * the user may mean, and refuses the rest. Each function returns whether there is a
 * mistake, and the sentence in RET. */

/* The command line that srun, sbatch or salloc has just read. Borrows everything. */
struct berth_typed {
    const struct berth_hetgroups *line;
    int optind;         /* getopt's, after the options */
    const char *caller; /* "srun", "sbatch" or "salloc" */
    const char *prefix; /* the site's, of our options */
    bool is_contained;  /* the component has an image */
    bool is_named;      /* of sbatch and salloc: an option sets the image, not only the
                           environment */
};

/* Warns of an option of ours after the command, which gets the option as an argument;
 * not if the command has such options: `salloc srun --container-image=...`. */
bool berth_mistake_misplaced(const struct berth_typed *typed, struct berth_err *ret);

/* The same for a line of a --multi-prog file. ARGV is its command, ended by NULL;
 * PREFIX is the site's prefix of our options. */
bool berth_mistake_on_line(char *const *argv, const char *prefix,
                           struct berth_err *ret);

/* Finds a colon that is not an argument of its own and so does not begin a component:
 * `./a :-n1 ./b`, `./a: -n1 ./b`. Only if the line has an option of ours, and an option
 * of srun and a command follow the colon: `rsync host: -av to` is right. */
bool berth_mistake_colon(const struct berth_typed *typed, struct berth_err *ret);
