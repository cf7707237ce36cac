/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* The options on a command line of srun, which are not those of the commands behind
 * them. */

/* The next long option, --NAME or --NAME=VALUE, from *AT on; NULL: there are no more.
 * *AT, at first behind the word srun, moves behind it and its value. */
const char *berth_srunwords_next(char *const **at);

/* Does the name of OPTION, --NAME or --NAME=VALUE, end in NAME? The site's prefix
 * stands between the dashes and the rest. */
bool berth_srunwords_named(const char *option, const char *name);
