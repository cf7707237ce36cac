/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* The verbs of the berth command, a file for each. ARGV starts with the verb. They
 * print to standard output, faults to standard error, and return the exit status
 * (berth(1)): EXIT_SUCCESS, BERTH_CLI_FAILED, or BERTH_CLI_MISUSED, all told; or
 * BERTH_CLI_USAGE or BERTH_CLI_HELP, and the caller prints how the verb is used. */
enum {
    BERTH_CLI_FAILED = 1,
    BERTH_CLI_MISUSED = 2, /* the command line is wrong */
    BERTH_CLI_USAGE = -1,  /* the same, and nothing was said */
    BERTH_CLI_HELP = -2,   /* was asked for */
};

int berth_cli_check(int argc, char **argv);
int berth_cli_doctor(int argc, char **argv);
int berth_cli_enter(int argc, char **argv);
int berth_cli_explain(int argc, char **argv);
int berth_cli_inspect(int argc, char **argv);
int berth_cli_profiles(int argc, char **argv);
int berth_cli_ps(int argc, char **argv);
int berth_cli_pull(int argc, char **argv);
int berth_cli_run(int argc, char **argv);

/* Print VERB and its options for the completions of shells. HELP is NULL for a command
 * that is not a verb, as srun. */
void berth_cli_list(const char *verb, const char *usage, const char *help);

/* Print the sentence; returns BERTH_CLI_FAILED. */
int berth_cli_fail(const struct berth_err *err);
int berth_cli_fail_oom(void);

/* Print the sentence, of a wrong command line; returns BERTH_CLI_MISUSED. */
int berth_cli_misused(const struct berth_err *err);
