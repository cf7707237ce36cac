/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* As root in a user namespace, a library of PMIx tells Slurm's server that its user is
 * 0, which is not the user of the step: the server refuses it. But a credential of
 * munge has the user that munged has seen, and munged sees that of the host. */

/* The directory of the socket of munged. */
#define BERTH_MUNGE_PLACE "/run/munge"

/* The cache of the dynamic loader: the names of all libraries that it finds. */
#define BERTH_MUNGE_LIBRARIES "/etc/ld.so.cache"

/* Does this process see the socket of munged, and may it connect? */
bool berth_munge_is_here(void);

/* May PMIx of an image, in whose container this process is, be refused where it is
 * root? Returns why: a clause without an end; or NULL: it has munge. TASK is the
 * environment that Slurm gives the task, LIBRARIES the path of BERTH_MUNGE_LIBRARIES.
 */
const char *berth_munge_why_not(char *const *task, const char *libraries);

/* Do LIBRARIES name one of PMIx, or of an MPI that may have it inside? */
bool berth_munge_is_wanted(const char *libraries);
