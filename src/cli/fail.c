/* SPDX-License-Identifier: Apache-2.0 */
/* How a verb ends that could not do its work. */

#include "cli/cli.h"

#include <stdio.h>

static int print_error(const struct berth_err *err, int status)
{
    fprintf(stderr, "berth: %s\n", err->text);
    return status;
}

int berth_cli_fail(const struct berth_err *err)
{
    return print_error(err, BERTH_CLI_FAILED);
}

int berth_cli_fail_oom(void)
{
    struct berth_err err;

    berth_err_oom(&err);
    return berth_cli_fail(&err);
}

int berth_cli_misused(const struct berth_err *err)
{
    return print_error(err, BERTH_CLI_MISUSED);
}
