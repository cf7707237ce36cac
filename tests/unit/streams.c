/* SPDX-License-Identifier: Apache-2.0 */
/* From srun's options to the file that gets standard output and error. */

#include "request/streams.h"

#include "unit.h"

enum { MOST = 12 };

static const struct {
    const char *words[MOST];
    int optind;
    const char *output, *error; /* variables */
    const char *file;
} lines[] = {
    {{"srun", "x"}, 1, NULL, NULL, NULL},
    {{"srun", "-o", "f", "x"}, 3, NULL, NULL, "f"},
    {{"srun", "-of", "x"}, 2, NULL, NULL, "f"},
    {{"srun", "-lo", "f", "x"}, 3, NULL, NULL, "f"},
    {{"srun", "-n", "2", "--output=f.%t", "x"}, 4, NULL, NULL, "f.%t"},
    {{"srun", "--output", "f", "x"}, 3, NULL, NULL, "f"},
    {{"srun", "--out=f", "x"}, 2, NULL, NULL, "f"},
    /* the last one counts */
    {{"srun", "-o", "f", "-o", "g", "x"}, 5, NULL, NULL, "g"},
    {{"srun", "-o", "f", "-o", "all", "x"}, 5, NULL, NULL, NULL},
    /* standard error has a place of its own, or the same one */
    {{"srun", "-o", "f", "-e", "g", "x"}, 5, NULL, NULL, NULL},
    {{"srun", "-o", "f", "--err=g", "x"}, 4, NULL, NULL, NULL},
    {{"srun", "-o", "f", "-e", "all", "x"}, 5, NULL, NULL, NULL},
    {{"srun", "-o", "f", "--error", "f", "x"}, 5, NULL, NULL, "f"},
    {{"srun", "-e", "f", "x"}, 3, NULL, NULL, NULL},
    /* srun's own standard output */
    {{"srun", "-o", "all", "x"}, 3, NULL, NULL, NULL},
    {{"srun", "-o", "ALL", "x"}, 3, NULL, NULL, NULL},
    {{"srun", "-o", "-", "x"}, 3, NULL, NULL, NULL},
    /* other options, and words of the command */
    {{"srun", "--open-mode=append", "--overlap", "x"}, 3, NULL, NULL, NULL},
    {{"srun", "--export=ALL", "-o", "f", "x"}, 4, NULL, NULL, "f"},
    {{"srun", "--comment", "-o", "x", "-o", "f"}, 3, NULL, NULL, NULL},
    {{"srun", "x", "-o", "f"}, 1, NULL, NULL, NULL},
    {{"srun", "x", ":", "-o", "f", "y"}, 1, NULL, NULL, NULL},
    /* variables, over which the options win */
    {{"srun", "x"}, 1, "f", NULL, "f"},
    {{"srun", "x"}, 1, "f", "g", NULL},
    {{"srun", "-o", "g", "x"}, 3, "f", "g", "g"},
    {{"srun", "-e", "f", "x"}, 3, "f", "g", "f"},
};

TEST_ROWS(standard_output_and_error_are_one_file, lines)
{
    struct berth_hetgroups state = {0};
    const char *file;

    for (int i = 0; lines[_i].words[i]; i++)
        berth_strvec_push(&state.argv, lines[_i].words[i]);
    berth_hetgroups_next(&state, lines[_i].optind);
    file =
        berth_streams_file(&state, lines[_i].optind, lines[_i].output, lines[_i].error);
    if (lines[_i].file)
        ck_assert_ptr_nonnull(file);
    else
        ck_assert_ptr_null(file);
    if (file)
        ck_assert_str_eq(file, lines[_i].file);
    berth_strvec_fini(&state.argv);
}

TEST(the_second_component_has_its_own)
{
    static const char *const words[] = {"srun", "x", ":", "-o", "f", "y", NULL};
    struct berth_hetgroups state = {0};

    for (int i = 0; words[i]; i++)
        berth_strvec_push(&state.argv, words[i]);
    berth_hetgroups_next(&state, 1);
    ck_assert_ptr_null(berth_streams_file(&state, 1, NULL, NULL));
    berth_hetgroups_next(&state, 3);
    ck_assert_str_eq(berth_streams_file(&state, 3, NULL, NULL), "f");
    berth_strvec_fini(&state.argv);
}

TEST(no_command_line_no_file)
{
    struct berth_hetgroups state = {0};

    ck_assert_ptr_null(berth_streams_file(&state, 1, "f", NULL));
}
