/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "bind/inside.h"

/* Enters the container as the owner of its namespaces, at the place and with the
 * environment that the application will have. The process has the environment of the
 * container before. */
int berth_enter(const struct berth_inside *inside, struct berth_err *err);

/* The file of COMMAND (ends in NULL), in the root of this process, or of the program
 * that the command starts, if its words tell that (bind/command.h); NULL: no such file
 * that can be executed. The caller frees it. */
char *berth_enter_find(char *const *command);
