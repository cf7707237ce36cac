/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The value of Slurm's own --container. */

/* Slurm's variables of it: that of tasks and of a batch script, which Slurm does not
 * read, and that which srun reads. */
#define BERTH_BUNDLE_VARIABLE "SLURM_CONTAINER"
#define BERTH_BUNDLE_SRUN     "SRUN_CONTAINER"

/* The plugin sets this variable for a task that runs on the host although Slurm starts
 * berth-oci: Slurm passes one value of --container to all components of a step. The
 * name begins as Slurm's, so that --export=NONE does not drop it. berth-oci removes it.
 */
#define BERTH_BUNDLE_HOST "SLURM_BERTH_HOST"

/* berth-oci sets this variable for `berth run`, which removes it: the image is the
 * value of --container. */
#define BERTH_BUNDLE_RUN "BERTH_OCI_RUN"
