/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/strvec.h"

/* The runtime makes the environment of an image once, when the container starts, from
 * the variables of the step that starts it. A later step gets the same changes. So each
 * variable on which the changes depend, or which they set, must have the same value in
 * both steps. */

/* Matches every variable. */
#define BERTH_JOB_ANY "*"

/* Append to RET every word in the scripts of the image that could be the name of a
 * variable; ROOT is the root of the container. Appends BERTH_JOB_ANY if the scripts may
 * read any variable: a script cannot be read, reads other files, or lists all
 * variables. */
void berth_job_variables_find(const char *root, struct berth_strvec *ret);

/* The same for one SCRIPT of the image, whose file name is NAME. */
void berth_job_variables_scan(const char *name, const char *script,
                              struct berth_strvec *ret);

/* Does the runtime, which has made CHANGES (plan/envdiff.h), remove variables that no
 * option names (--cleanenv)? */
bool berth_job_variables_cleaned(const struct berth_strvec *changes);

/* Do ONE and OTHER, environments ended by NULL, have the same values of NAMES and of
 * the variables that the runtime itself reads? With BERTH_JOB_ANY in NAMES, of all
 * variables but those that Slurm and the process managers set for each step and task.
 */
bool berth_job_variables_same(const struct berth_strvec *names, char *const *one,
                              char *const *other);
