/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A batch script that runs in an image. slurmd keeps the script in a directory of the
 * job below SlurmdSpoolDir, as slurm_script. */

/* The path of the script, for `berth run`, which removes the variable: the command is
 * this script, and not a task of a step. */
#define BERTH_SCRIPT_VARIABLE "BERTH_SCRIPT"

/* Has srun started the process of ENVIRONMENT, or one above it? The steps of a batch
 * script and of the shell of salloc have special numbers (SLURM_BATCH_SCRIPT and
 * others, slurm.h), or none. */
bool berth_script_has_step(char *const *environment);

/* Is COMMAND, started with ENVIRONMENT, the batch script of a job? */
bool berth_script_is(char *const *environment, const char *command);

/* The value of --container in the #SBATCH lines of component NUMBER (from 0) of the
 * script TEXT, the last one, as sbatch reads them: up to the first line that is not a
 * comment; `#SBATCH hetjob` begins the next component. NULL: there is none, or memory
 * has run out. The caller frees it. */
char *berth_script_container(const char *text, size_t number);
