/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "request/request.h"
#include "site/site.h"

/* For the verbs that have the options of srun: run and explain. */

/* Read ARGV, which begins with the verb, up to the command: the options of
 * request/option.h and --help. Options win over the variables of request/defaults.h,
 * and variables over the default of the job. Returns EXIT_SUCCESS with the request,
 * which has an image or asks for the host, in *RET, and the command, which ends in
 * NULL, in *RET_COMMAND; or the status that the verb must return (cli/cli.h): for
 * BERTH_CLI_MISUSED, ERR has the sentence, which is not printed. In each case the
 * caller owns *RET. */
int berth_cli_request(int argc, char **argv, struct berth_request *ret,
                      char ***ret_command, struct berth_err *err);

/* If the image of REQUEST is in a registry, pull it into the user's cache and put the
 * path of the file into REQUEST. SITE has the runtime, the cache and what is allowed.
 */
int berth_cli_fetch(struct berth_request *request, const struct berth_site *site,
                    struct berth_err *err);

/* Print the options of request/option.h to standard output, for --help. */
void berth_cli_print_options(void);
