/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* A batch script that runs in an image. slurmd keeps the script in a directory of the
 * job below SlurmdSpoolDir, as slurm_script. */

/* The path of the script, for `berth run`, which removes the variable: the command is
 * this script, and not a task of a step. */
#define BERTH_SCRIPT_VARIABLE "BERTH_SCRIPT"

/* Is COMMAND, started with ENVIRONMENT, the batch script of a job? */
bool berth_script_is(char *const *environment, const char *command);
