/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "request/request.h"

/* Options by environment: BERTH_CONTAINER_IMAGE=/a.sif is like
 * --container-image=/a.sif, and so on for each row of request/option.h. An option
 * without a value is given by `yes` and not by `no`. An empty variable does not count.
 */

/* Bytes of the longest name. */
#define BERTH_DEFAULTS_NAME 64

/* The name of the variable of option ID. */
void berth_defaults_name(enum berth_option_id id, char name[BERTH_DEFAULTS_NAME]);

/* Takes the options that ENVIRON (ended by NULL) and ASSIGNED (commandline/export.h)
 * ask for; ASSIGNED wins. BASE is the directory of relative paths, NULL when there is
 * none. Returns 0, or -1 with a sentence in ERR that names the variable. */
int berth_defaults_parse(char *const *environ, const struct berth_strvec *assigned,
                         const char *base, struct berth_request *ret,
                         struct berth_err *err);

/* What sbatch or salloc was asked for, as a table of one row (request/wire.h). */
#define BERTH_JOB_VARIABLE "SLURM_BERTH_JOB"

/* Read TEXT, the value of that variable; NULL: there is none, and *RET stays as it is.
 * Returns 0, or -1 with a sentence in ERR that names the variable. */
int berth_defaults_job(const char *text, struct berth_request *ret,
                       struct berth_err *err);
