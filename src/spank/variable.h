/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include <slurm/spank.h>

#include "base/err.h"

/* Variables that the plugin in srun sets for the plugin in slurmstepd. Every release of
 * Slurm sends variables that start with SLURM to the nodes, also under --export=NONE; a
 * name SLURM_SPANK_* would be one of Slurm's own. The variable of sbatch and salloc is
 * in request/defaults.h. */

/* The sentence for a call of Slurm that fails; for what. */
#define BERTH_VARIABLE_UNANSWERED                                                      \
    "Slurm does not answer for %s; submit again, and tell the administrators if it "   \
    "stays so"

/* The table of components (request/components.h). */
#define BERTH_STEP_VARIABLE "SLURM_BERTH_STEP"

/* The number of containers of the step, if it has more than one; read as root. */
#define BERTH_CONTAINERS_VARIABLE "SLURM_BERTH_CONTAINERS"

/* --container-lifetime, if an option sets it (berth_table_lifetime()); read as root. */
#define BERTH_LIFETIME_VARIABLE "SLURM_BERTH_LIFETIME"

/* The digest of the site's settings on the host of srun, and its name (site/digest.h).
 */
#define BERTH_SITE_VARIABLE "SLURM_BERTH_SITE"

/* sbatch was given an image by an option; the batch step reads as root whether this is
 * set. */
#define BERTH_BATCH_VARIABLE "SLURM_BERTH_BATCH"

/* The runtime sets one of these variables for each process in a container. */
#define BERTH_OUTER_APPTAINER   "APPTAINER_CONTAINER"
#define BERTH_OUTER_SINGULARITY "SINGULARITY_CONTAINER"

/* In srun: set NAME to TEXT; NULL: unset it. Returns 0, or -1 when out of memory. */
int berth_variable_publish(const char *name, const char *text, struct berth_err *err);

/* In slurmstepd: does the task's environment have NAME? */
bool berth_variable_is_set(spank_t sp, const char *name);

/* Unset all of them: in slurmstepd in the task's environment; with SP NULL in that of
 * this srun, where they may be those of an outer step. */
void berth_variable_unset_all(spank_t sp);

/* In slurmstepd: the value of NAME, which is set, in the task's environment. Returns 0
 * with *RET_TEXT, which the caller frees; -1 with a sentence in ERR if it is longer
 * than any of berth's. */
int berth_variable_get(spank_t sp, const char *name, char **ret_text,
                       struct berth_err *err);
