/* SPDX-License-Identifier: Apache-2.0 */
/* What a terminal shows of a runtime that pulls, and its reason to give up. */

#include "pull/listen.h"

#include <string.h>
#include <unistd.h>

#include "unit.h"

static const struct {
    const char *said; /* in pieces that end in | */
    const char *shown;
    const char *words;
} speeches[] = {
    {"", "", ""},
    {"INFO: one\n|INFO: two\n|", "INFO: one\nINFO: two\n", "INFO: two"},
    {"INFO: one\n|\033[31mFATAL:  \033[0m no\n|\n|", "INFO: one\n\n", "no"},
    {"FATAL: no\nINFO: yes\n|", "INFO: yes\n", "no"},
    {"10%\r20%|\r30%\r|\n|", "10%\r20%\r30%\r\n", "30%"},
    {"\033[2Khalf a |line|", "\033[2Khalf a line", "half a line"},
    {"a FATAL: is inside\n|", "a FATAL: is inside\n", "a FATAL: is inside"},
};

TEST_ROWS(what_the_runtime_says, speeches)
{
    struct berth_listen listen = {0};
    const char *piece = speeches[_i].said;
    char seen[200] = "";
    int pipes[2];

    ck_assert_int_eq(pipe(pipes), 0);
    listen.terminal = pipes[1];
    for (const char *end; (end = strchr(piece, '|')); piece = end + 1)
        berth_listen_add(&listen, piece, (size_t)(end - piece));
    close(pipes[1]);
    ck_assert_int_ge(read(pipes[0], seen, sizeof(seen) - 1), 0);
    close(pipes[0]);
    ck_assert_str_eq(seen, speeches[_i].shown);
    ck_assert_str_eq(berth_listen_reason(&listen), speeches[_i].words);
}

void unit_prepare(TCase *tests)
{
    (void)tests;
}
