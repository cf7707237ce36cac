/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "plan/order.h"
#include "request/components.h"
#include "commandline/multiprog.h"
#include "request/request.h"
#include "site/settings.h"
#include "site/site.h"

/* The line of a --multi-prog file for the rank of this process. Start with {0}. */
struct berth_cli_line {
    struct berth_multiprog file;
    struct berth_table table;       /* of all lines */
    struct berth_row *row;          /* in `table` */
    struct berth_settings settings; /* of this host */
    struct berth_strvec command;    /* of the line, without its options */
    struct berth_order_step step;   /* borrows from `row` */
    struct berth_strvec programs;   /* of berth_cli_line_programs() */
};

/* Read the file and find the line. WORDS, ended by NULL, are the name of the file and
 * the words to append to each command; DEFAULTS is the request of the command line.
 * Reads and checks all lines, because their ranks share one MPI_COMM_WORLD. In each
 * case the caller owns *RET. */
int berth_cli_line_read(char *const *words, const struct berth_request *defaults,
                        const struct berth_site *site, struct berth_cli_line *ret,
                        struct berth_err *err);

/* Find the `programs` of the line, of which all ranks must get the same MPI with
 * --mpi-bind (berth_rows_programs()). REQUEST is what the site has made of the line's
 * request. */
int berth_cli_line_programs(struct berth_cli_line *line,
                            const struct berth_request *request, struct berth_err *err);

void berth_cli_line_fini(struct berth_cli_line *line);

#define BERTH_CLI_LINE __attribute__((cleanup(berth_cli_line_fini)))
