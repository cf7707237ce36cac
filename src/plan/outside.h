/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "request/request.h"

/* Of each task in a container that may start commands of the host: NAME.TOKEN, the name
 * of the socket where it asks, in the abstract namespace (unix(7)), and what shows that
 * it may (job/hostcommand.h). */
#define BERTH_OUTSIDE_VARIABLE "BERTH_INSIDE"

/* Has the directory with these commands, the last one of its PATH, for a shell that
 * sets PATH anew; and how that begins there. */
#define BERTH_OUTSIDE_PLACE "BERTH_INSIDE_PATH"
#define BERTH_OUTSIDE_PATH  ":/proc/"

/* The environment of a command of the host that a program in a container starts: what
 * the task has outside, and what the program has set or changed in the container. Never
 * the image's PATH or what leads a loader astray, nor what ranks of the task's own step
 * know of its process manager. The container options of the step are the defaults of a
 * new one. */

/* Each is ended by NULL; what a program has changed is seen against CONTAINER. */
struct berth_outside {
    char *const *task;                   /* of the task on the host */
    char *const *container;              /* what the container has made of that */
    char *const *program;                /* of the program that asks */
    const struct berth_request *request; /* the step's, as its user has asked for it */
    char *const *command;                /* its name, and arguments */
    const char *workdir; /* of the program, where the host does not have that; NULL: it
                            has */
};

/* Does COMMAND name an image for the new step? Then it is not the program's. */
bool berth_outside_says_image(char *const *command);

/* Appends to RET. */
int berth_outside_environment(const struct berth_outside *outside,
                              struct berth_strvec *ret, struct berth_err *err);
