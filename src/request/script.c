/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises the batch script of a job. */

#include "request/script.h"

#include <stdlib.h>
#include <string.h>

#include "base/environ.h"
#include "base/text.h"

bool berth_script_has_step(char *const *environment)
{
    enum { FIRST_SPECIAL = 0xfffffff0 }; /* SLURM_MAX_NORMAL_STEP_ID, slurm.h */
    const char *step = berth_environ_value(environment, "SLURM_STEP_ID");

    return step && strtoul(step, NULL, 10) < FIRST_SPECIAL;
}

bool berth_script_is(char *const *environment, const char *command)
{
    const bool is_path = *command == '/';

    if (!is_path || strcmp(berth_text_base(command), "slurm_script") != 0)
        return false;
    return berth_environ_value(environment, "SLURM_JOB_ID") &&
           !berth_script_has_step(environment);
}
