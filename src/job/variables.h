/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/strvec.h"

/* The environment of an image is made once, when its container starts, from the
 * variables of the step that starts it. A later step gets the same changes, so each
 * variable that these depend on, or that they set, must have the same value. */

/* Stands for every variable. */
#define BERTH_JOB_ANY "*"

/* Append to RET every word in the scripts of the image that could be the name of a
 * variable; ROOT is the root of the container. BERTH_JOB_ANY says that they may read
 * any variable: a script could not be read, or it reads others, or asks for all of
 * them. */
void berth_job_variables_find(const char *root, struct berth_strvec *ret);

/* For tests: those of one script, which has the name NAME. */
void berth_job_variables_scan(const char *name, const char *script,
                              struct berth_strvec *ret);

/* Does the runtime remove variables that nobody has named (--cleanenv)? BEFORE is the
 * environment of a step, with which it was started, AFTER what it has made. */
bool berth_job_variables_cleaned(char *const *before, char *const *after);

/* Have NAMES, and what the runtime itself reads, the same values in both environments
 * (each ended by NULL)? With BERTH_JOB_ANY in NAMES: all, but what Slurm and the
 * process managers set for each step and task. */
bool berth_job_variables_same(const struct berth_strvec *names, char *const *one,
                              char *const *other);
