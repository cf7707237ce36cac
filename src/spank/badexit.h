/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "commandline/hetgroup.h"

/* In srun, before it reads its options: is --kill-on-bad-exit to be the default?
 * Components, lines of --multi-prog, and nodes of one MPI_COMM_WORLD cannot go on
 * without each other: when one cannot start, the others would wait for it in MPI_Init.
 */
struct berth_badexit {
    const char *prefix;                 /* the site's, of our options */
    const struct berth_hetgroups *line; /* srun's command line */
};

/* By what the command line and the environment ask for. */
bool berth_badexit_wanted(const struct berth_badexit *badexit);

/* Is there a component with an image? */
bool berth_badexit_has_image(const struct berth_badexit *badexit);
