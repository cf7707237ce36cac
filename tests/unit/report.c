/* SPDX-License-Identifier: Apache-2.0 */
/* One line for each node and step. */

#include "ipc/report.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

TEST(one_of_two_claimers_speaks)
{
    int fd = berth_report_open();

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(berth_report_claim(fd), 1);
    ck_assert_int_eq(berth_report_claim(fd), 0);
    ck_assert_int_eq(berth_report_claim(fd), 0);
    close(fd);
}

TEST(without_a_pipe_everyone_speaks)
{
    ck_assert_int_eq(berth_report_claim(-1), 1);
    ck_assert_int_eq(berth_report_claim(-1), 1);
}

static const struct berth_err fault = {.text = "a: b; c"};

/* What COUNT processes that share FD write to standard error of ERR at PLACE. */
static char *overheard(int fd, int count, const char *place,
                       const struct berth_err *err)
{
    static char text[4096];
    int ends[2];
    ssize_t got;
    size_t used = 0;

    ck_assert_int_eq(pipe(ends), 0);
    for (int i = 0; i < count; i++)
        if (fork() == 0) {
            dup2(ends[1], STDERR_FILENO);
            berth_report(fd, place, err);
            _exit(0);
        }
    close(ends[1]);
    while ((got = read(ends[0], text + used, sizeof(text) - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
    close(ends[0]);
    while (wait(NULL) > 0)
        ;
    return text;
}

TEST(of_many_tasks_one_line_comes)
{
    int fd = berth_report_open();

    ck_assert_str_eq(overheard(fd, 8, "n1", &fault), "berth: n1: a: b; c\n");
    ck_assert_str_eq(overheard(fd, 2, "n1", &fault), "");
    close(fd);
}

TEST(without_a_pipe_each_line_is_whole)
{
    ck_assert_str_eq(overheard(-1, 2, "n1", &fault),
                     "berth: n1: a: b; c\nberth: n1: a: b; c\n");
}

TEST(a_long_place_is_cut)
{
    struct berth_err err;
    char place[4096];

    memset(place, 'p', sizeof(place));
    place[sizeof(place) - 1] = '\0';
    berth_err_set(&err, "%s", place);
    ck_assert_uint_eq(strlen(overheard(-1, 1, place, &err)), BERTH_ERR_SIZE + 511);
}

TEST(control_characters_of_a_place_are_escaped)
{
    struct berth_err err;

    berth_err_set(&err, "a");
    ck_assert_str_eq(overheard(-1, 1, "n\033[31m1\n", &err),
                     "berth: n\\x1b[31m1\\n: a\n");
}

/* What a node's first task says of an image with such a name. */
TEST(names_in_a_line_are_escaped_and_long_lines_are_whole)
{
    char note[3 * BERTH_ERR_SIZE];
    char expected[4 * BERTH_ERR_SIZE];
    char line[4 * BERTH_ERR_SIZE] = "";
    int ends[2];

    memset(note, 'n', sizeof(note));
    note[sizeof(note) - 1] = '\0';
    snprintf(expected, sizeof(expected),
             "berth: n1\\x07: note: image 'a\\x1b[31m.sif': %s\n", note);
    ck_assert_int_eq(pipe(ends), 0);
    berth_report_line(ends[1], "n1\a", "note: image '%s': %s", "a\033[31m.sif", note);
    ck_assert_int_gt(read(ends[0], line, sizeof(line) - 1), 0);
    ck_assert_str_eq(line, expected);
    close(ends[0]);
    close(ends[1]);
}

TEST(where_no_pipe_can_be_made_there_is_none)
{
    struct rlimit usual, none;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
    none = usual;
    none.rlim_cur = 3;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_int_eq(berth_report_open(), -1);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
}
