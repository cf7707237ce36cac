/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <slurm/spank.h>

#include "base/err.h"
#include "request/mistakes.h"

/* In srun: the lines of a --multi-prog file (request/multiprog.h). */

/* The --multi-prog file of the component whose options srun has just read; NULL: the
 * component has no such file. Borrowed from the command line. */
const char *berth_lines_file(const struct berth_typed *typed);

/* Read that file, and append to TABLE the request of each line: its options over
 * DEFAULTS. CHECK is that of struct berth_rows. Warns of options after the program of a
 * line. Returns 0, or -1 with a sentence in ERR that names the line. */
int berth_lines_read(const struct berth_typed *typed,
                     const struct berth_request *defaults, struct berth_table *table,
                     int (*check)(struct berth_request *request, unsigned long tasks,
                                  struct berth_err *err),
                     struct berth_err *err);

/* Does the command line have a --multi-prog file that contains TEXT? For use before
 * srun reads its options: any word that is the path of a file counts. */
bool berth_lines_mention(const struct berth_hetgroups *line, const char *text);

/* In Slurm before 23.11, when srun has read the file: put berth-task before the
 * arguments of each line. Returns 0, or -1 with a sentence in ERR. */
int berth_lines_prefix(spank_t sp, struct berth_err *err);
