/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "request/request.h"

/* A command of the host that a program in a container starts. Its environment is that
 * of the task on the host, with the variables that the program has set or changed; but
 * never the image's PATH, the variables of its loader, or those of the step's process
 * manager. The container options of the step are the defaults of a new step. */

/* Borrows everything; each list is ended by NULL. */
struct berth_hostenv {
    char *const *task;                   /* environment of the task on the host */
    char *const *container;              /* that environment in the container */
    char *const *program;                /* environment of the program that asks */
    const struct berth_request *request; /* of the step, as its user asked */
    char *const *command;                /* its name and arguments */
    const struct berth_strvec *pytorch;  /* environment.pytorch of the site; NULL: the
                                            step's tasks get no variables for PyTorch */
    bool is_script;                      /* the task is the batch script of a job */
    const char *workdir; /* working directory of the program, if the host does not have
                            it; NULL: the host has it */
};

/* Does COMMAND name an image for the new step, in place of the program's? */
bool berth_hostenv_has_image(char *const *command);

/* Append the environment of the command to RET. Returns 0, or -1 with a sentence in
 * ERR. */
int berth_hostenv_environment(const struct berth_hostenv *outside,
                              struct berth_strvec *ret, struct berth_err *err);
