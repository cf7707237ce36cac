/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises the batch script of a job. */

#include "request/script.h"

#include <stdlib.h>
#include <string.h>

#include "base/environ.h"
#include "base/text.h"

/* Has the process of ENVIRONMENT a step of srun? Batch and interactive steps have
 * numbers above these (SLURM_BATCH_SCRIPT, slurm.h), or no number. */
static bool has_step(char *const *environment)
{
    const char *step = berth_environ_value(environment, "SLURM_STEP_ID");

    return step && strtoul(step, NULL, 10) < 0xfffffff0;
}

bool berth_script_is(char *const *environment, const char *command)
{
    return *command == '/' && strcmp(berth_text_base(command), "slurm_script") == 0 &&
           berth_environ_value(environment, "SLURM_JOB_ID") && !has_step(environment);
}
