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
 * that (berth_command_program()), or else of COMMAND's own file, in the root of this
 * process. NULL: there is no such file that can be executed. The caller frees it. */
char *berth_enter_find(char *const *command);

/* Finds the program that COMMAND (ends in NULL) finally starts, from its words alone:
 * PROGRAM of `env A=b PROGRAM`, `taskset -c 0 PROGRAM`, `sh -c 'exec PROGRAM ...'`,
 * `ld.so PROGRAM`. Returns its name or path, which the caller frees. Returns NULL if
 * COMMAND starts no other program; if its words do not show which one (loops,
 * variables, several programs); if it changes where libraries are found; and out of
 * memory. */
char *berth_command_program(char *const *command);
