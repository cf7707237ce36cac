/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The value of Slurm's own --container. */

/* Slurm's variables of it: that of tasks and of a batch script, which Slurm does not
 * read, and that which srun reads. */
#define BERTH_BUNDLE_VARIABLE "SLURM_CONTAINER"
#define BERTH_BUNDLE_SRUN     "SRUN_CONTAINER"

/* The plugin sets this variable for a task that runs on the host, beside others in
 * images: Slurm passes one value of --container to all components of a step. berth-oci
 * removes it. */
#define BERTH_BUNDLE_HOST "BERTH_OCI_HOST"

/* berth-oci sets this variable for `berth run`, which removes it: the image is the
 * value of --container. */
#define BERTH_BUNDLE_RUN "BERTH_OCI_RUN"
