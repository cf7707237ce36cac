/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Finds the options on a command line of srun, sbatch or salloc, and leaves out those
 * of the commands. */

/* An option, or the command of a component. */
struct berth_srunword {
    const char *name; /* a long option as typed, --NAME or --NAME=VALUE; else NULL */
    char letter;      /* a short option; of several in one word the last. No NAME and no
                         LETTER: the command */
    char *const *word; /* the word with the value, or the command; *WORD may be NULL */
    const char *value; /* the value; NULL: none */
};

/* Finds the next option or command from *AT on, and moves *AT past it. At first *AT is
 * after the word COMMAND, which is srun, sbatch or salloc. Returns false at the end.
 * *RET points into the words. */
bool berth_srunwords_next(const char *command, char *const **at,
                          struct berth_srunword *ret);

/* Is OPTION a long option whose name ends in NAME? A prefix of the site may stand
 * between the dashes and NAME. */
bool berth_srunwords_named(const struct berth_srunword *option, const char *name);
