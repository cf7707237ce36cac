/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "request/components.h"

/* In srun: makes one JSON document of what several components of a step print
 * (--container-explain=json). Each task prints its own object, on its own node, and
 * srun mixes their lines. */

/* When the job exists, and before srun starts the step: if the rows of TABLE are
 * explained as JSON, and are several, keep what srun prints from now on in memory. If
 * that fails, the lines are printed as they come. */
void berth_explained_begin(const struct berth_table *table);

/* When srun ends: print what is in that memory, as one array. */
void berth_explained_end(void);
