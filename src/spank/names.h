/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Variables between the plugin in srun and the plugin in slurmstepd. Every release of
 * Slurm carries variables that start with SLURM to the nodes, also under --export=NONE;
 * it would take the form SLURM_SPANK_* for its own. That of sbatch and salloc is in
 * commandline/defaults.h. */

#define BERTH_STEP_VARIABLE "SLURM_BERTH_STEP" /* srun -> the tasks' nodes */
#define BERTH_ENV_VARIABLE  "SLURM_BERTH_ENV"  /* the same: what --export drops */

/* The same: what srun's environment says of its job (--mpi-bind=launch). */
#define BERTH_ALLOCATION_VARIABLE "SLURM_BERTH_ALLOCATION"

/* srun -> the nodes, which read it as root: the number of containers of the step, where
 * it has more than one. */
#define BERTH_CONTAINERS_VARIABLE "SLURM_BERTH_CONTAINERS"

/* The same: --container-lifetime, where an option says it (berth_table_lifetime()). */
#define BERTH_LIFETIME_VARIABLE "SLURM_BERTH_LIFETIME"

/* Slurm's own, for srun and the task: the OCI bundle of --container. */
#define BERTH_BUNDLE_VARIABLE "SLURM_CONTAINER"

/* A process that has one of these variables runs in a container: the runtime sets them.
 */
#define BERTH_OUTER_APPTAINER   "APPTAINER_CONTAINER"
#define BERTH_OUTER_SINGULARITY "SINGULARITY_CONTAINER"
