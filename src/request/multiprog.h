/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"
#include "request/components.h"
#include "request/request.h"

#define BERTH_TASK_PROGRAM BERTH_LIBEXECDIR "/berth-task"

/* The file of `srun --multi-prog` (srun(1), MULTIPLE PROGRAM CONFIGURATION), as
 * slurmstepd reads it (its multi_prog.c). A line is
 *
 *     RANKS [OPTION...] PROGRAM [ARGUMENT...]
 *
 * with our options between the ranks and the program. Slurm reads the options as a
 * part of the command, and berth puts berth-task before them. */

/* Bytes of the longest file that srun accepts, from 25.05 on; 60000 before that. srun
 * refuses a longer one itself (_load_multi() in its launch.c). */
enum { BERTH_MULTIPROG_MAX = 512 << 20 };

struct berth_multiprog_line {
    unsigned int number; /* in the file, from 1 */
    char *ranks;         /* request/ranks.h */
    char *text;          /* the rest of the line, with the lines that continue it */
};

/* A value struct: start with {0}. */
struct berth_multiprog {
    struct berth_multiprog_line *items;
    size_t count, room;
};

/* Reads TEXT without comments and blank lines; the next line continues a line that ends
 * with a backslash. On success the caller owns *RET (berth_multiprog_fini). */
int berth_multiprog_read(const char *text, struct berth_multiprog *ret,
                         struct berth_err *err);

/* Does TEXT, the beginning of a file, look like one: ranks as numbers, a blank and a
 * program? Not a line that begins with `-` or `*`: it may be one of a list. */
bool berth_multiprog_begins(const char *text);

void berth_multiprog_fini(struct berth_multiprog *file);

#define BERTH_MULTIPROG __attribute__((cleanup(berth_multiprog_fini)))

/* Appends to RET the arguments of LINE after the ranks, for RANK, one of its ranks. %t
 * is RANK, %o its place in the ranks; only the backslash and the single quote protect.
 */
int berth_multiprog_arguments(const struct berth_multiprog_line *line,
                              unsigned int rank, struct berth_strvec *ret,
                              struct berth_err *err);

/* What the options of a line are parsed with. Borrows everything. */
struct berth_multiprog_reading {
    const char *prefix; /* the site's, of our options */
    const char *base;   /* as in berth_request_parse() */
    const struct berth_request
        *defaults; /* the options of srun, which those of a line override */
};

/* Counts the arguments at the beginning of ARGV (ended by NULL) that are options or
 * empty: `--NAME=VALUE`, `--NAME VALUE` (two arguments) or `--NAME`, with PREFIX before
 * NAME. Returns the count; -1 with a sentence in ERR if an option is wrong. */
int berth_multiprog_options(char *const *argv, const char *prefix,
                            struct berth_err *err);

/* The request of LINE, merged over the defaults of READING; empty without an image. On
 * success the caller owns *RET. All ranks of a line have the same request: %t and %o in
 * an option are errors. */
int berth_multiprog_request(const struct berth_multiprog_line *line,
                            const struct berth_multiprog_reading *reading,
                            struct berth_request *ret, struct berth_err *err);

/* The first rank of LINE, in FILE. */
unsigned int berth_multiprog_first(const struct berth_multiprog *file,
                                   const struct berth_multiprog_line *line);

/* Appends to RET the arguments of LINE for RANK after the options, before which
 * BERTH_TASK_PROGRAM may stand. */
int berth_multiprog_command(const struct berth_multiprog_line *line, unsigned int rank,
                            const char *prefix, struct berth_strvec *ret,
                            struct berth_err *err);

/* The first of these, the program; "": there is none. On success the caller frees
 * *RET. */
int berth_multiprog_program(const struct berth_multiprog_line *line, unsigned int rank,
                            const char *prefix, char **ret, struct berth_err *err);

/* TEXT with BERTH_TASK_PROGRAM before the arguments of each line. All else stays. In
 * releases of Slurm before 23.11 a plugin cannot put the program there on the node
 * (spank/multiproglines.c). On success the caller frees *RET_TEXT. */
int berth_multiprog_prefix(const char *text, char **ret_text, struct berth_err *err);

/* From a --multi-prog file to the rows of a table (request/components.h). Borrows
 * everything. */
struct berth_rows {
    const char *name; /* of the file, for messages */
    const struct berth_multiprog *file;
    struct berth_multiprog_reading reading;

    /* Checks that TASKS tasks (0: not known) may have REQUEST, and may change REQUEST
     * before it is added to the table. Returns 0, or -1 with a sentence in ERR. */
    int (*check)(struct berth_request *request, unsigned long tasks,
                 struct berth_err *err);
};

/* Appends the requests of the lines to TABLE. Returns 0, or -1 with a sentence in ERR
 * that names the file and the line. */
int berth_rows_read(const struct berth_rows *rows, struct berth_table *table,
                    struct berth_err *err);

/* The row of a task, and how its line is read. Borrows everything. */
struct berth_rows_part {
    const struct berth_table *table;
    const struct berth_row *row; /* in `table` */
    const char *prefix;          /* the site's, of our options */
};

/* Appends to RET the programs of all lines of FILE (no lines: the step has no
 * --multi-prog) that run in the container of PART, sorted and each once. With
 * --mpi-bind of REQUEST each rank judges all of them, so that all ranks decide alike.
 * Appends nothing for fewer than two programs, and if REQUEST chooses no MPI or uses
 * the entry point. Returns 0, or -1 with a sentence in ERR. */
int berth_rows_programs(const struct berth_multiprog *file,
                        const struct berth_rows_part *part,
                        const struct berth_request *request, struct berth_strvec *ret,
                        struct berth_err *err);
