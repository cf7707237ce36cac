/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "request/hetgroup.h"
#include "request/request.h"

/* Slurm's own --container in srun, sbatch and salloc. Where oci.conf of this host names
 * berth-oci, an image as its value is that of --container-image of the component. Slurm
 * gives the last value to all components of a step; here each has its own. */

/* Before Slurm reads its options in sbatch or salloc: those set SLURM_CONTAINER unless
 * an outer job has set it. */
void berth_container_init(void);

/* Restore that of the outer job, when the options of the first component are read. */
void berth_container_restore(void);

/* The value for the component whose options end at OPTIND of LINE, the first of its
 * command if IS_FIRST; NULL: none. *RET_IS_TYPED: on the command line, or in a line of
 * the script, and not by a variable. */
const char *berth_container_value(const struct berth_hetgroups *line, int optind,
                                  bool is_first, bool *ret_is_typed);

/* Is VALUE an image, and not an OCI bundle? A missing file is judged by its name. */
bool berth_container_is_image(const char *value);

/* Does oci.conf of this host name berth-oci? */
bool berth_container_is_ours(void);

/* Put the image VALUE into OPTIONS, the options of a component. Returns 0, or -1 with a
 * sentence in ERR if they name another image. */
int berth_container_take(const char *value, struct berth_request *options,
                         struct berth_err *err);
