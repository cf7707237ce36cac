/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "request/request.h"

/* Options from variables: BERTH_CONTAINER_IMAGE=/a.sif is like
 * --container-image=/a.sif, and so on for each row of request/option.h. For a switch,
 * `yes` gives the option and `no` its opposite. An empty variable counts as unset,
 * except that of the image, which is an error. */

/* Bytes of the longest name. */
#define BERTH_DEFAULTS_NAME 64

/* Writes the name of the variable of option ID, or of one of pyxis, to NAME. */
void berth_defaults_name(enum berth_option_id id, char name[BERTH_DEFAULTS_NAME]);

/* Parses the variables of ENVIRON (ended by NULL) and ASSIGNED (request/capture.h);
 * ASSIGNED wins. BASE as in berth_request_parse(). On success the caller owns *RET.
 * Returns 0, or -1 with a sentence in ERR that names the variable. */
int berth_defaults_parse(char *const *environ, const struct berth_strvec *assigned,
                         const char *base, struct berth_request *ret,
                         struct berth_err *err);

/* Adds the variables of pyxis, PYXIS_CONTAINER_IMAGE and the like, to REQUEST, which
 * has all other options: each counts where REQUEST says nothing, as in pyxis, and all
 * but the image only in a container. Appends to *RET_ADDED, which starts as `{0}`, what
 * was added. The other parameters and the result as above. */
int berth_defaults_add_pyxis(char *const *environ, const struct berth_strvec *assigned,
                             const char *base, struct berth_request *request,
                             struct berth_request *ret_added, struct berth_err *err);

/* The variable with the options of sbatch or salloc (request/wire.h): a table of one
 * row, or of a row for each component of a heterogeneous job, of which the last is for
 * all that follow. */
#define BERTH_JOB_VARIABLE "SLURM_BERTH_JOB"

/* Reads from TEXT, the value of that variable, the row of the het group GROUP (0 in the
 * batch script). NULL: the variable is unset, and *RET does not change. On success the
 * caller owns *RET. Returns 0, or -1 with a sentence in ERR that names the variable. */
int berth_defaults_job(const char *text, int group, struct berth_request *ret,
                       struct berth_err *err);

/* Reports where the options of a component come from. TYPED is the command line of
 * srun, ENVIRONMENT its variables, JOB what sbatch or salloc was given; an earlier one
 * wins. Appends to RET a sentence for each option with one value, unless only the
 * command line sets the option. The caller checks RET's `failed`. */
void berth_defaults_sources(const struct berth_request *typed,
                            const struct berth_request *environment,
                            const struct berth_request *job, struct berth_strvec *ret);
