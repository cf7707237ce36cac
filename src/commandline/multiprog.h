/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"
#include "request/request.h"

/* The file of `srun --multi-prog` (srun(1), MULTIPLE PROGRAM CONFIGURATION), as
 * slurmstepd reads it (its multi_prog.c). A line is
 *
 *     RANKS [OPTION...] PROGRAM [ARGUMENT...]
 *
 * with our options between the ranks and the program: Slurm takes them for words of the
 * command, and berth-task stands in front of them. */

/* Bytes of the longest file that srun takes (_load_multi() in its launch.c). */
enum { BERTH_MULTIPROG_MAX = 60000 };

struct berth_multiprog_line {
    unsigned int number; /* in the file, from 1 */
    char *ranks;         /* request/ranks.h */
    char *text;          /* what is behind them, with the lines that continue it */
};

/* A value struct: start with {0}. */
struct berth_multiprog {
    struct berth_multiprog_line *lines;
    size_t count;
};

/* Read TEXT: comments and blank lines are left out, and a line that ends with a
 * backslash goes on in the next one. The caller owns *RET (berth_multiprog_fini). */
int berth_multiprog_read(const char *text, struct berth_multiprog *ret,
                         struct berth_err *err);

void berth_multiprog_fini(struct berth_multiprog *file);

#define BERTH_MULTIPROG __attribute__((cleanup(berth_multiprog_fini)))

/* Append to RET the words of LINE for RANK, which is one of its ranks: %t is the rank,
 * %o its place in the ranks, and only the backslash and the single quote protect. */
int berth_multiprog_words(const struct berth_multiprog_line *line, unsigned int rank,
                          struct berth_strvec *ret, struct berth_err *err);

/* How the options of a line are read. */
struct berth_multiprog_reading {
    const char *prefix;                   /* the site's, of our options */
    const char *base;                     /* as of berth_request_parse(); NULL: none */
    const struct berth_request *defaults; /* what the lines change */
};

/* How many of WORDS, which NULL ends, are options: each `--NAME=VALUE`, `--NAME VALUE`
 * or `--NAME`, with PREFIX in front of NAME; or an empty word. -1 with a sentence in
 * ERR: one is wrong. */
int berth_multiprog_options(char *const *words, const char *prefix,
                            struct berth_err *err);

/* What LINE asks for, for RANK; without an image: nothing. The caller owns *RET. */
int berth_multiprog_request(const struct berth_multiprog_line *line, unsigned int rank,
                            const struct berth_multiprog_reading *reading,
                            struct berth_request *ret, struct berth_err *err);

/* Does an option of LINE have %t or %o, so that each rank may ask for another thing? */
bool berth_multiprog_differs(const struct berth_multiprog_line *line,
                             const char *prefix);

/* The first rank of LINE, in FILE. */
unsigned int berth_multiprog_first(const struct berth_multiprog *file,
                                   const struct berth_multiprog_line *line);

/* Append to RET the words of LINE for RANK that are behind its options; IN_FRONT: a
 * word that may stand before these. */
int berth_multiprog_command(const struct berth_multiprog_line *line, unsigned int rank,
                            const char *in_front, const char *prefix,
                            struct berth_strvec *ret, struct berth_err *err);

/* The first of these words, the program; "": there is none. The caller frees *RET. */
int berth_multiprog_program(const struct berth_multiprog_line *line, unsigned int rank,
                            const char *in_front, const char *prefix, char **ret,
                            struct berth_err *err);

/* TEXT with PROGRAM put in front of the words on every line, for releases of Slurm in
 * which a plugin cannot do that on the node (before 23.11, see spank/lines.c). All
 * else stays as it is. On success the caller frees *RET_TEXT. */
int berth_multiprog_prefix(const char *text, const char *program, char **ret_text,
                           struct berth_err *err);
