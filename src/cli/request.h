/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "request/request.h"

/* For the verbs with the options of srun. */

/* An option of the verb itself. */
struct berth_cli_flag {
    const char *name;
    bool is_of_lines; /* with it the request is the default of lines in a file, so that
                         it may have no image, and the words begin with the file */
    bool is_given;
};

/* Read the options of ARGV, whose first word is the verb, up to the command: those of
 * request/option.h, --help, and FLAG. They win over the variables of
 * commandline/defaults.h, and these over the default of the job. Returns 0 with the
 * request in *RET (it has an image, or asks for the host), the words of the command in
 * *RET_COMMAND, and in FLAG whether it was given; otherwise the status that the verb
 * returns (cli/cli.h). In each case the caller owns *RET. */
int berth_cli_request(int argc, char **argv, struct berth_cli_flag *flag,
                      struct berth_request *ret, char ***ret_command);

/* Become berth-start, which does what REQUEST, which has an image, asks for with
 * COMMAND. Returns only when that fails: -1 with a sentence in ERR. */
int berth_cli_run_in_image(struct berth_request *request, char **command,
                           struct berth_err *err);

/* Print the options of request/option.h to standard output, for --help. */
void berth_cli_print_options(void);
