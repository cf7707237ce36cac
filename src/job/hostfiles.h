/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* Files that a command line of srun names. The srun of the host opens them there, so
 * the program in a container that asks for it must see the same ones. */

/* Check the files of COMMAND (words, ended by NULL), in --error, --input, --multi-prog
 * and --output, and in the variables for these, unless TASK, the environment of the
 * task on the host, has the same. The program at SOCKET (job/hostcommand.h) tells what
 * it sees. The caller is in the working directory of the command, which gets
 * ENVIRONMENT. Ends the calling process if the program ends, or gets a signal that ends
 * it. Returns 0, or -1 with a sentence in ERR. */
int berth_hostfiles_check(int socket, char *const *command, char *const *task,
                          char *const *environment, struct berth_err *err);
