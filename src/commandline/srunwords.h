/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* The options on a command line of srun, sbatch or salloc, which are not those of the
 * commands behind them. */

/* An option, or the command behind the options of a component. */
struct berth_srunword {
    const char *name; /* of a long option, as it is written: --NAME or --NAME=VALUE */
    char letter;      /* of a short one; of several in one word the last. Neither: it is
                         the command */
    char *const *word; /* where the value is, or the command; *WORD may be NULL */
    const char *value; /* in *WORD; NULL: none */
};

/* The next one from *AT on; false: there are no more. *AT, at first behind the word
 * COMMAND, which is srun, sbatch or salloc, moves behind it. */
bool berth_srunwords_next(const char *command, char *const **at,
                          struct berth_srunword *ret);

/* Does the name of OPTION, a long one, end in NAME? The site's prefix stands between
 * the dashes and the rest. */
bool berth_srunwords_named(const struct berth_srunword *option, const char *name);
