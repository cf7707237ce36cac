/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "request/hetgroup.h"
#include "site/site.h"

/* In srun, before it reads its options: should --kill-on-bad-exit be the default? Yes
 * for components, lines of --multi-prog, and nodes of one MPI_COMM_WORLD: when one of
 * them cannot start, the others would wait for it in MPI_Init. */
struct berth_badexit {
    const char *prefix;                 /* the site's prefix of options */
    const struct berth_hetgroups *line; /* srun's command line */
};

/* Do the command line and the environment ask for such a step, or may SITE make it one?
 * SITE is NULL for a step without an image. */
bool berth_badexit_wanted(const struct berth_badexit *badexit,
                          const struct berth_site *site);

/* Do the command line and the environment ask for an image in any component? */
bool berth_badexit_has_image(const struct berth_badexit *badexit);
