/* SPDX-License-Identifier: Apache-2.0 */
/* Which output has colours, and how verbs are told. */

#include "base/color.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/output.h"

#include "unit.h"

/* Returns a terminal, which is not anybody's controlling terminal. */
static int open_terminal(void)
{
    int fd = posix_openpt(O_RDWR | O_NOCTTY);

    ck_assert_int_ge(fd, 0);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    return fd;
}

static bool has_color(const char *when, int fd)
{
    struct berth_err err;
    bool result;

    ck_assert_int_eq(berth_color_read(when, fd, &result, &err), 0);
    return result;
}

TEST(a_terminal_has_colours_and_a_pipe_does_not)
{
    int terminal = open_terminal();
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert(has_color(NULL, terminal));
    ck_assert(has_color("auto", terminal));
    ck_assert(!has_color("never", terminal));
    ck_assert(!has_color("auto", ends[1]));
    ck_assert(has_color("always", ends[1]));
    close(ends[0]);
    close(ends[1]);
    close(terminal);
}

TEST(the_environment_decides_for_auto_alone)
{
    int terminal = open_terminal();

    setenv("NO_COLOR", "1", 1);
    ck_assert(!has_color("auto", terminal));
    ck_assert(has_color("always", terminal));
    setenv("NO_COLOR", "", 1); /* no-color.org: empty counts as unset */
    ck_assert(has_color("auto", terminal));
    setenv("TERM", "dumb", 1);
    ck_assert(!has_color("auto", terminal));
    unsetenv("TERM");
    ck_assert(!has_color("auto", terminal));
    close(terminal);
}

TEST(another_word_is_refused)
{
    struct berth_err err;
    bool result;

    ck_assert_int_eq(berth_color_read("blue", 1, &result, &err), -1);
    ck_assert_str_eq(err.text, "--color: expected auto, always or never, got 'blue'");
}

TEST(text_without_colours_has_no_sequences)
{
    for (int color = BERTH_COLOR_GOOD; color <= BERTH_COLOR_ANSWER; color++) {
        ck_assert_str_eq(berth_color_begin(false, (enum berth_color)color), "");
        ck_assert_int_eq(*berth_color_begin(true, (enum berth_color)color), '\033');
    }
    ck_assert_str_eq(berth_color_end(false), "");
    ck_assert_str_eq(berth_color_end(true), "\033[0m");
}

TEST(verbs_take_json_and_color)
{
    static const struct {
        const char *argument;
        bool is_taken, is_json, has_color;
    } cases[] = {
        {"--json", true, true, false},
        {"--color", true, false, true},
        {"--color=always", true, false, true},
        {"--color=never", true, false, false},
        {"--colour=always", false, false, false},
        {"a.sif", false, false, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct berth_output output = {0};
        struct berth_err err;
        bool is_taken;

        ck_assert_int_eq(berth_output_take(cases[i].argument, &output, &is_taken, &err),
                         0);
        ck_assert_int_eq(is_taken, cases[i].is_taken);
        ck_assert_int_eq(output.is_json, cases[i].is_json);
        ck_assert_int_eq(output.has_color, cases[i].has_color);
    }
}
