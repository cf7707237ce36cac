/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "bindover/inside.h"

/* Enters the container of INSIDE as the owner of its namespaces, in the working
 * directory and with the variables that the application will have. Before the call the
 * environment of the process is that of the container. Returns 0, or -1 with a sentence
 * in ERR. */
int berth_enter(const struct berth_inside *inside, struct berth_err *err);

/* The path of the program that COMMAND (ends in NULL) finally starts, if its words show
 * that (bindover/command.h), or else of COMMAND's own file, in the root of this
 * process. NULL: there is no such file that can be executed. The caller frees it. */
char *berth_enter_find(char *const *command);
