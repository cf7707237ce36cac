/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a --multi-prog file, their words and options. */

#include "request/multiprog.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "request/ranks.h"
#include "request/wire.h"
#include "unit.h"

#define P BERTH_TASK_PROGRAM

static const struct {
    const char *text;
    const char *prefixed;
} texts[] = {
    {"", ""},
    {"0 ./a\n", "0 " P " ./a\n"},
    {"0 ./a", "0 " P " ./a"},
    {"0-3 ./a x y\n4 ./b\n", "0-3 " P " ./a x y\n4 " P " ./b\n"},
    {"* ./a %t %o\n", "* " P " ./a %t %o\n"},
    {"0,2-4\t./a\n", "0,2-4 " P "\t./a\n"},
    {"  0   ./a\n", "  0 " P "   ./a\n"},
    {"# 0 ./a\n\n  # more\n0 ./a\n", "# 0 ./a\n\n  # more\n0 " P " ./a\n"},
    {"   \n\t\n", "   \n\t\n"},
    {"0 ./a \\\n  more words\n1 ./b\n", "0 " P " ./a \\\n  more words\n1 " P " ./b\n"},
    {"0 ./a \\\n x \\\n y\n1 ./b\n", "0 " P " ./a \\\n x \\\n y\n1 " P " ./b\n"},
    {"0 sh -c 'a # b'\n", "0 " P " sh -c 'a # b'\n"},
};

TEST_ROWS(every_command_gets_the_program, texts)
{
    struct berth_err err;
    char *text = NULL;

    ck_assert_int_eq(berth_multiprog_prefix(texts[_i].text, &text, &err), 0);
    ck_assert_str_eq(text, texts[_i].prefixed);
    free(text);
}

/* The words of the line for a rank, each in brackets; NULL: a fault. */
static const struct {
    const char *text;
    unsigned int rank;
    const char *words;
} lines[] = {
    {"0 ./a", 0, "[./a]"},
    {"0-3 ./a x  y\t z\n4 ./b", 2, "[./a][x][y][z]"},
    {"0-3 ./a\n4 ./b", 4, "[./b]"},
    {"* ./a %t %o x%t-%oy", 7, "[./a][7][7][x7-7y]"},
    {"2,4-6,9 ./a %t %o", 2, "[./a][2][0]"},
    {"2,4-6,9 ./a %t %o", 6, "[./a][6][3]"},
    {"2,4-6,9 ./a %t %o", 9, "[./a][9][4]"},
    {"0 ./a %% %q 100%", 0, "[./a][][][100]"},
    {"0 sh -c 'a  b' 'c'd''", 0, "[sh][-c][a  b][cd]"},
    {"0 ./a 'x%ty\\n'", 0, "[./a][x%ty\\n]"},
    {"0 ./a b\\ c \\'d \\\\ \\%t", 0, "[./a][b c]['d][\\][%t]"},
    {"0 ./a ''", 0, "[./a][]"},
    {"0 ./a \\\n  b \\\nc\n1 ./d", 0, "[./a][][b][c]"},
    {"0 ./a \\\n", 0, "[./a][]"},
    {"0 ./a b\\\nc\n1 ./d", 0, "[./a][bc]"},
    {"0 ./a b\\\nc\n1 ./d", 1, "[./d]"},
    {"0 ./a \\\n\n b\n1 ./d", 0, "[./a][][b]"},
    {"# 0 ./z\n\n  0   ./a # b\n", 0, "[./a][#][b]"},
    {"# more \\\n0 ./z\n* ./a", 0, "[./a]"},
    {"0 ./a 'b", 0, NULL},
};

/* The line of FILE that is for RANK. */
static const struct berth_multiprog_line *line_of(const struct berth_multiprog *file,
                                                  unsigned int rank)
{
    for (size_t i = 0; i < file->count; i++)
        if (berth_ranks_has(file->items[i].ranks, rank, NULL))
            return &file->items[i];
    ck_abort_msg("no line");
}

static void bracket(const struct berth_strvec *words, struct berth_buf *ret)
{
    berth_buf_puts(ret, "");
    for (size_t i = 0; i < words->count; i++) {
        berth_buf_puts(ret, "[");
        berth_buf_puts(ret, words->items[i]);
        berth_buf_puts(ret, "]");
    }
}

TEST_ROWS(a_rank_gets_the_words_of_its_line, lines)
{
    BERTH_MULTIPROG struct berth_multiprog file = {0};
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_BUF struct berth_buf text = {0};
    struct berth_err err = {0};
    int result;

    ck_assert_msg(berth_multiprog_read(lines[_i].text, &file, &err) == 0, "%s",
                  err.text);
    result = berth_multiprog_arguments(line_of(&file, lines[_i].rank), lines[_i].rank,
                                       &words, &err);
    if (!lines[_i].words) {
        ck_assert_int_eq(result, -1);
        ck_assert_str_eq(err.text, "a single quote is not closed; write another one");
        return;
    }
    ck_assert_int_eq(result, 0);
    bracket(&words, &text);
    ck_assert_str_eq(text.text, lines[_i].words);
}

#define BAD_RANKS(ranks)                                                               \
    "line 2: expected ranks like 0-3,8, or * for those that no other line has, got "   \
    "'" ranks "'"

static const struct {
    const char *text;
    const char *error;
} bad_files[] = {
    {"\nx ./a", BAD_RANKS("x")},
    {"\n3-1 ./a", BAD_RANKS("3-1")},
    {"\n1, ./a", NULL},
    {"\n1;2 ./a", BAD_RANKS("1;2")},
    {"# x\n-1 ./a", BAD_RANKS("-1")},
    {"\n** ./a", BAD_RANKS("**")},
    {"\n1-2-3 ./a", BAD_RANKS("1-2-3")},
    {"\n999999999 ./a", BAD_RANKS("999999999")},
};

TEST_ROWS(ranks_are_checked, bad_files)
{
    BERTH_MULTIPROG struct berth_multiprog file = {0};
    struct berth_err err = {0};
    int expected = bad_files[_i].error ? -1 : 0;

    ck_assert_int_eq(berth_multiprog_read(bad_files[_i].text, &file, &err), expected);
    ck_assert_str_eq(err.text, expected ? bad_files[_i].error : "");
}

#define NOT_HERE(word)                                                                 \
    "'" word "' is not an option; expected a program, or options "                     \
    "for its image; options of Slurm go to srun"

#define SAME_OPTIONS                                                                   \
    "a percent sign in an option: all ranks of a line have the same options; write a " \
    "line for each rank, or a backslash before the sign"

/* What a line asks for over an image /d.sif of the command line, as on the wire; and
 * its program. */
static const struct {
    const char *line;
    const char *request; /* NULL: a fault */
    const char *program; /* or the fault */
} requests[] = {
    {"0 ./a", "image=/d.sif", "./a"},
    {"0 --container-image=/x.sif ./a -v", "image=/x.sif", "./a"},
    {"0 --container-image /x.sif ./a", "image=/x.sif", "./a"},
    {"0 --container-image=/x.sif \\\n  --mpi-bind \\\n\t./a b",
     "image=/x.sif&mpi-bind=auto", "./a"},
    {"0 --container-image=x.sif ./a", "image=/here/x.sif", "./a"},
    {"0 --container-image='/a b.sif' ./a", "image=/a%20b.sif", "./a"},
    {"0 --container-image=none ./a", "", "./a"},
    {"0 --mpi-bind --container-writable ./a", "image=/d.sif&writable=&mpi-bind=auto",
     "./a"},
    {"0 --mpi-bind=host --container-env=A='%t',B=\\%o ./a %t",
     "image=/d.sif&env=A%3D%25t&env=B%3D%25o&mpi-bind=host", "./a"},
    {"0 --mpi-bind --container-env A=%t ./a", NULL, SAME_OPTIONS},
    {"0 --container-env=A=100% ./a", NULL, SAME_OPTIONS},
    {"0 --container-mounts=/x --container-mounts=/y:/z:ro --no-container-mount-home sh",
     "image=/d.sif&mounts=/x:/x:rw&mounts=/y:/z:ro&no-mount-home=", "sh"},
    {"0 \\\n  --container-image=/x.sif \\\n  ./a", "image=/x.sif", "./a"},
    {"0 --container-entrypoint", "image=/d.sif&entrypoint=", ""},
    {"0 --container-imag=/x ./a", NULL,
     "'--container-imag' is not an option; did you mean '--container-image'?"},
    {"0 --container-explain ./a", NULL,
     "--container-explain: it is for the whole step; give it to srun"},
    {"0 --ntasks=4 ./a", NULL, NOT_HERE("--ntasks")},
    {"0 -n4 ./a", NULL, NOT_HERE("-n4")},
    {"0 -- ./a", NULL, NOT_HERE("--")},
    {"0 --container-writable=yes ./a", NULL, "'--container-writable' takes no value"},
    {"0 --container-image", NULL,
     "--container-image: the value is empty; give one, or leave the option out"},
    {"0 --container-image= ./a", NULL,
     "--container-image: the value is empty; give one, or leave the option out"},
    {"0 --container-workdir=x ./a", NULL,
     "--container-workdir: expected a directory in the image, from /, got 'x'"},
    {"0 --container-image=none --container-writable ./a", NULL,
     "--container-image=none: the other container options mean nothing on the host; "
     "leave them out"},
    {"0 --container-image=/a --container-image=/b ./a", NULL,
     "--container-image: given twice, '/a' and '/b'; expected one value"},
    {"0 --mpi-bind", NULL, "no program; write one after the ranks and the options"},
    {"0 --container-save=x ./a", NULL,
     "--container-save: 'x': an image is a SIF file or a squashfs file; give a name "
     "that ends in .sif or .sqsh"},
};

TEST_ROWS(a_line_asks_for_its_image, requests)
{
    BERTH_MULTIPROG struct berth_multiprog file = {0};
    BERTH_REQUEST struct berth_request defaults = {0};
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_BUF struct berth_buf text = {0};
    BERTH_FREE char *program = NULL;
    struct berth_err err = {0};
    const struct berth_multiprog_reading reading = {"", "/here", &defaults};
    int result;

    ck_assert_int_eq(
        berth_request_parse(&defaults, BERTH_OPTION_IMAGE, "/d.sif", NULL, &err), 0);
    ck_assert_int_eq(berth_multiprog_read(requests[_i].line, &file, &err), 0);
    result = berth_multiprog_request(file.items, &reading, &request, &err);
    if (!requests[_i].request) {
        ck_assert_int_eq(result, -1);
        ck_assert_str_eq(err.text, requests[_i].program);
        return;
    }
    ck_assert_msg(result == 0, "%s", err.text);
    berth_buf_puts(&text, "");
    berth_wire_put_request(&text, &request);
    ck_assert_str_eq(text.text, requests[_i].request);
    ck_assert_int_eq(berth_multiprog_program(file.items, 0, "", &program, &err), 0);
    ck_assert_str_eq(program, requests[_i].program);
}

TEST(options_need_an_image)
{
    BERTH_MULTIPROG struct berth_multiprog file = {0};
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_request defaults = {.writable = BERTH_YES};
    const struct berth_multiprog_reading reading = {"", NULL, &defaults};
    struct berth_err err;

    ck_assert_int_eq(berth_multiprog_read("0 ./a\n1 --mpi-bind ./b", &file, &err), 0);
    ck_assert_int_eq(berth_multiprog_request(&file.items[0], &reading, &request, &err),
                     0);
    ck_assert(!berth_request_has_options(&request));
    ck_assert_int_eq(berth_multiprog_request(&file.items[1], &reading, &request, &err),
                     -1);
    ck_assert_str_eq(err.text, "--container-writable: it needs an image; add "
                               "--container-image=IMAGE");
}

TEST(a_prefix_of_the_site_is_known)
{
    char image[] = "--site-container-image=/a", mpi[] = "--site-mpi-bind", a[] = "./a";
    char *const words[] = {image, mpi, a, NULL};
    struct berth_err err;

    ck_assert_int_eq(berth_multiprog_options(words, "site-", &err), 2);
    ck_assert_int_eq(berth_multiprog_options(words, "", &err), -1);
}

TEST(a_file_looks_like_one)
{
    static const char *const yes[] = {"0 ./a", "# ranks\n\n0-1,3\t./a\n"};
    static const char *const no[] = {"", "#", "0", "- a", "* ./a", "ranks 0 ./a", "0x"};

    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
        ck_assert_msg(berth_multiprog_begins(yes[i]), "%s", yes[i]);
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
        ck_assert_msg(!berth_multiprog_begins(no[i]), "%s", no[i]);
}

TEST(a_line_knows_its_first_rank)
{
    BERTH_MULTIPROG struct berth_multiprog file = {0};

    ck_assert_int_eq(
        berth_multiprog_read("4-5,2 ./a\n0-1 ./b\n3 ./c\n* ./d", &file, NULL), 0);
    ck_assert_uint_eq(berth_multiprog_first(&file, &file.items[0]), 2);
    ck_assert_uint_eq(berth_multiprog_first(&file, &file.items[1]), 0);
    ck_assert_uint_eq(berth_multiprog_first(&file, &file.items[3]), 6);
}

TEST(berth_task_may_stand_before_the_options)
{
    BERTH_MULTIPROG struct berth_multiprog file = {0};
    BERTH_FREE char *program = NULL;

    ck_assert_int_eq(berth_multiprog_read("0 " P " --mpi-bind ./a", &file, NULL), 0);
    ck_assert_int_eq(berth_multiprog_program(file.items, 0, "", &program, NULL), 0);
    ck_assert_str_eq(program, "./a");
}
