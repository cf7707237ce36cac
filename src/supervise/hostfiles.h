/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"

/* Files that a command line of Slurm names and that only the container has, or that are
 * another file on the host (plan/outsidefiles.h). */

/* Copy such files into memory that the command inherits, and put the path of the memory
 * into COMMAND (words, ended by NULL) and into the variables in ENVIRONMENT that name
 * files, unless TASK, the environment of the task, has the same value. The program at
 * SOCKET (job/hostcommand.h) opens the files. The caller is in the working directory of
 * the command. Ends the calling process if the program ends, or gets a signal that ends
 * it. Returns 0, or -1 with a sentence in ERR. */
int berth_hostfiles_carry(int socket, char **command, struct berth_strvec *environment,
                          char *const *task, struct berth_err *err);
