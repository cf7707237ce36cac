/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* The value of --container-name: NAME, or NAME:FLAG. The flags are those of pyxis. */

#define BERTH_NAMED_AUTO                                                               \
    "auto" /* as without a flag: use the container that has the                        \
              name, or make one */
#define BERTH_NAMED_CREATE "create" /* make one, or fail */
#define BERTH_NAMED_EXEC   "exec"   /* join one that a step runs in now, or fail */
#define BERTH_NAMED_NO_EXEC                                                            \
    "no_exec" /* see no mounts that a running step has made; each                      \
                 step has mounts of its own, so this is `auto` */

/* Is TEXT such a value: letters, digits, `.`, `_` and `-` in NAME, of which the first
 * is a letter or digit, at most 63 of them? Returns 0, or -1 with a sentence in ERR. */
int berth_named_check(const char *text, struct berth_err *err);

/* The FLAG in TEXT, such a value; BERTH_NAMED_AUTO if it has none. */
const char *berth_named_flag(const char *text);

/* Are the names in A and B, two such values, equal? */
bool berth_named_same(const char *a, const char *b);

/* Is the name in TEXT a number of a job and one of a step, JOB.STEP, by which pyxis
 * finds the container of a step that has no name? */
bool berth_named_is_step(const char *text);

/* The length of the name in TEXT. */
int berth_named_length(const char *text);
