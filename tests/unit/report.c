/* SPDX-License-Identifier: Apache-2.0 */
/* One line for each node and step. */

#include "step/report.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

START_TEST(one_of_two_claimers_speaks)
{
    int fd = berth_report_open();

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(berth_report_claim(fd), 1);
    ck_assert_int_eq(berth_report_claim(fd), 0);
    ck_assert_int_eq(berth_report_claim(fd), 0);
    close(fd);
}
END_TEST

START_TEST(without_a_pipe_everyone_speaks)
{
    ck_assert_int_eq(berth_report_claim(-1), 1);
    ck_assert_int_eq(berth_report_claim(-1), 1);
}
END_TEST

/* What COUNT processes that share FD write to standard error. */
static char *overheard(int fd, int count)
{
    struct berth_err err = {"a: b; c"};
    static char text[4096];
    int ends[2];
    ssize_t got;
    size_t used = 0;

    ck_assert_int_eq(pipe(ends), 0);
    for (int i = 0; i < count; i++)
        if (fork() == 0) {
            dup2(ends[1], STDERR_FILENO);
            berth_report(fd, "n1", &err);
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

START_TEST(of_many_tasks_one_line_comes)
{
    int fd = berth_report_open();

    ck_assert_str_eq(overheard(fd, 8), "berth: n1: a: b; c\n");
    ck_assert_str_eq(overheard(fd, 2), "");
    close(fd);
}
END_TEST

START_TEST(without_a_pipe_each_line_is_whole)
{
    ck_assert_str_eq(overheard(-1, 2), "berth: n1: a: b; c\nberth: n1: a: b; c\n");
}
END_TEST

START_TEST(a_long_place_is_cut)
{
    struct berth_err err;
    char place[4096];
    int ends[2];
    int saved = dup(STDERR_FILENO);
    char line[8192];

    memset(place, 'p', sizeof(place));
    place[sizeof(place) - 1] = '\0';
    berth_err_set(&err, "%s", place);
    ck_assert_int_eq(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    berth_report(-1, place, &err);
    dup2(saved, STDERR_FILENO);
    ck_assert_int_eq(read(ends[0], line, sizeof(line)), BERTH_ERR_SIZE + 511);
    close(ends[0]);
    close(ends[1]);
    close(saved);
}
END_TEST

START_TEST(where_no_pipe_can_be_made_there_is_none)
{
    struct rlimit usual, none;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
    none = usual;
    none.rlim_cur = 3;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_int_eq(berth_report_open(), -1);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("report");

    tcase_add_test(tests, one_of_two_claimers_speaks);
    tcase_add_test(tests, without_a_pipe_everyone_speaks);
    tcase_add_test(tests, of_many_tasks_one_line_comes);
    tcase_add_test(tests, without_a_pipe_each_line_is_whole);
    tcase_add_test(tests, a_long_place_is_cut);
    tcase_add_test(tests, where_no_pipe_can_be_made_there_is_none);
    return unit_run("report", tests);
}
