/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* The verbs of the command berth; berth.c has the table. ARGV starts with the verb, and
 * ends in NULL. A verb prints its result on standard output and errors on standard
 * error, and returns the exit status (berth(1)): EXIT_SUCCESS, BERTH_CLI_FAILED or
 * BERTH_CLI_MISUSED. BERTH_CLI_USAGE and BERTH_CLI_HELP are not exit statuses: the verb
 * printed nothing, and its caller prints the usage or the help. */
enum {
    BERTH_CLI_FAILED = 1,
    BERTH_CLI_MISUSED = 2, /* the command line is wrong */
    BERTH_CLI_USAGE = -1,  /* the command line is wrong; the caller prints the usage */
    BERTH_CLI_HELP = -2,   /* the caller prints the help */
};

int berth_cli_check(int argc, char **argv);
int berth_cli_doctor(int argc, char **argv);
int berth_cli_enter(int argc, char **argv);
int berth_cli_explain(int argc, char **argv);
int berth_cli_images(int argc, char **argv);
int berth_cli_inspect(int argc, char **argv);
int berth_cli_profiles(int argc, char **argv);
int berth_cli_ps(int argc, char **argv);
int berth_cli_pull(int argc, char **argv);
int berth_cli_run(int argc, char **argv);
int berth_cli_save(int argc, char **argv);

/* Print the sentence in ERR on standard error. Returns BERTH_CLI_FAILED. */
int berth_cli_fail(const struct berth_err *err);

/* The same for a failed allocation. */
int berth_cli_fail_oom(void);

/* Print the sentence in ERR about a wrong command line. Returns BERTH_CLI_MISUSED. */
int berth_cli_misused(const struct berth_err *err);
