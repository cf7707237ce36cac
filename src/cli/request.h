/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_CLI_REQUEST_H
#define BERTH_CLI_REQUEST_H

#include "base/err.h"
#include "plan/request.h"

/* Of the verbs that take what srun takes. */

/* Read the options of ARGV, whose first word is the verb, up to the command: those of
 * plan/option.h, and the verb's own, FLAGS, names ended by NULL. They go over the
 * variables of plan/defaults.h, and these over the default of the job. Returns the
 * place of the command in ARGV (ARGC: none) and in *RET_FLAGS a bit for each of FLAGS
 * that was given; -1 with a sentence in ERR. The caller owns *RET. */
int berth_cli_request(int argc, char **argv, const char *const *flags,
                      unsigned int *ret_flags, struct berth_request *ret,
                      struct berth_err *err);

/* Become berth-task, which does what REQUEST, which has an image, asks for with
 * COMMAND. Returns only when that fails: -1 with a sentence in ERR. */
int berth_cli_run_in_image(struct berth_request *request, char **command,
                           struct berth_err *err);

/* Print the options of plan/option.h to standard output, for --help. */
void berth_cli_print_options(void);

#endif
