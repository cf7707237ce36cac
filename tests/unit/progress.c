/* SPDX-License-Identifier: Apache-2.0 */
/* The line of progress on a terminal, which is a file here, and the lines elsewhere. */

#include "base/progress.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

static struct berth_err last;
static int said;

static void say(const char *sentence)
{
    berth_err_set(&last, "%s", sentence);
    said++;
}

/* As if the work had begun that many seconds earlier. */
static void pass(struct berth_progress *progress, int seconds)
{
    progress->began -= 1000 * seconds;
    progress->drawn -= 1000 * seconds;
}

TEST(elsewhere_a_line_at_the_start_and_one_at_the_end)
{
    struct berth_progress progress;

    said = 0;
    berth_progress_begin(&progress, -1, say, "pulling '%s'", "x\ny");
    ck_assert_str_eq(last.text, "pulling 'x\\ny'");
    pass(&progress, 7);
    berth_progress_show(&progress, "12 MB");
    ck_assert_int_eq(said, 1);
    berth_progress_end(&progress, "pulled 'x' (%d MB)", 12);
    ck_assert_str_eq(last.text, "pulled 'x' (12 MB) in 7 s");
    berth_progress_begin(&progress, -1, say, "pulling 'x'");
    berth_progress_end(&progress, "pulled 'x'"); /* it was short */
    ck_assert_int_eq(said, 3);
}

TEST(a_terminal_has_one_line_that_goes)
{
    BERTH_FREE char *path = unit_path(unit_dir, "seen");
    BERTH_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct berth_progress progress;
    BERTH_FREE char *wanted = unit_format("\r\033[Kberth: 3 s, 12 MB: pulling '%051d"
                                          "\r\033[Kberth: 4 s: pulling '%058d\r\033[K",
                                          0, 0);
    char seen[500] = "";

    said = 0;
    setenv("TERM", "xterm", 1);
    berth_progress_begin(&progress, fd, say, "pulling '%0100d'", 0);
    berth_progress_show(&progress, "");
    ck_assert_int_eq(said, 0);
    pass(&progress, 3);
    berth_progress_show(&progress, "12 MB");
    berth_progress_show(&progress, "13 MB"); /* too early */
    pass(&progress, 1);
    berth_progress_show(&progress, "");
    berth_progress_end(&progress, "pulled 'x'");
    ck_assert_int_gt(pread(fd, seen, sizeof(seen) - 1, 0), 0);
    ck_assert_str_eq(seen, wanted);
    ck_assert_str_eq(last.text, "pulled 'x' in 4 s");
}

TEST(a_dumb_terminal_is_none)
{
    struct berth_progress progress;

    setenv("TERM", "dumb", 1);
    berth_progress_begin(&progress, STDERR_FILENO, say, "pulling");
    ck_assert_int_eq(progress.terminal, -1);
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
}
