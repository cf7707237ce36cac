/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"

/* Files that a command line of Slurm names, where only the container has them, or the
 * host has another one by that name (plan/outsidefiles.h). */

/* SOCKET: of the program that asks (job/hostcommand.h). COMMAND: its words, of which
 * some get another path, of memory that the command inherits; so does SLURM_HOSTFILE in
 * ENVIRONMENT, unless TASK, the environment of the task, has the same one. The working
 * directory is that of the command. Does not return where the program has ended, or is
 * to end, meanwhile. Returns 0, or -1 with a sentence in ERR. */
int berth_hostfiles_carry(int socket, char **command, struct berth_strvec *environment,
                          char *const *task, struct berth_err *err);
