/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a command line of srun names, of which a container has others. Here the
 * container's are in the directory `inside`, the host's in the working directory. */

#include "inside/hostfiles.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

static void set_up(void)
{
    ck_assert_int_eq(chdir(unit_dir), 0);
    ck_assert_int_eq(mkdir("inside", 0700), 0);
    ck_assert_int_eq(mkdir("inside/dir", 0700), 0);
    ck_assert_int_eq(mkdir("both", 0700), 0);
    ck_assert_int_eq(symlink("../both", "inside/both"), 0);
    ck_assert_int_eq(mkfifo("both/fifo", 0600), 0);
    unit_write("both/f", "both", 4);
    unit_write("inside/f", "inside", 6);
    unit_write("f", "the host's", 10);
}

/* What the program in the container sees. */
static int look(const void *data, const char *path, struct stat *ret)
{
    char inside[PATH_MAX];

    (void)data;
    snprintf(inside, sizeof(inside), "inside/%s", path);
    return stat(inside, ret);
}

/* What OPTION names is refused; NULL: the command runs. */
static const struct {
    const char *words;
    const char *option;
    const char *path;
} lines[] = {
    {"srun -i f cat f", "--input", "f"},
    {"srun -if x", "--input", "f"},
    {"srun --input=f x", "--input", "f"},
    {"srun --inp f x", "--input", "f"},
    {"srun -n1 : -i f x", "--input", "f"},
    {"srun -i dir/%t x", "--input", "dir/%t"},
    {"srun -o o x", "--output", "o"},
    {"srun -o o.%t x", "--output", "o.%t"},
    {"srun -o dir/new/%j x", "--output", "dir/new/%j"},
    {"srun -e dir/%j/e x", "--error", "dir/%j/e"},
    {"srun -i gone x", "--input", "gone"},
    {"srun --multi-prog f a", "--multi-prog", "f"},
    {"srun -n1 --multi-p -- f", "--multi-prog", "f"},
    {"srun f : --multi-prog f : f", "--multi-prog", "f"},
    {"srun --multi-prog all", "--multi-prog", "all"},
    {"srun -i both/f -o both/f x", NULL, NULL},
    {"srun -i both/fifo x", NULL, NULL},
    {"srun -i both/gone x", NULL, NULL},
    {"srun -o both/o.%t -e both/%j/e x", NULL, NULL},
    {"srun -o both/n/n/%j -e both/new/e x", NULL, NULL},
    {"srun --multi-prog both/f f", NULL, NULL},
    {"srun --multi-prog", NULL, NULL},
    {"srun --multi-prog both/f : f", NULL, NULL},
    {"srun --multi-prog /dev/stdin", NULL, NULL},
    {"srun -i - -o None -e ALL x", NULL, NULL},
    {"srun -i 3 -o 0 x", NULL, NULL},
    {"srun -i /dev/stdin -o /dev/stdout -e /dev/null x", NULL, NULL},
    {"srun -n1 ls -i f", NULL, NULL},
    {"srun --export=f -D dir x", NULL, NULL},
    {"squeue -o f -i f", NULL, NULL},
};

/* Check TEXT with an environment in which HOME is PLACE, and VARIABLE. Returns the
 * sentence, or "". */
static char *check(const char *text, const char *place, const char *variable)
{
    char *const task[] = {(char *)"SRUN_OUTPUT=dir/o", NULL};
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_STRVEC struct berth_strvec environment = {0};
    BERTH_FREE char *copy = strdup(text);
    const struct berth_hostfiles files = {.look = look, .task = task};
    struct berth_err err = {0};

    for (char *rest = copy; rest;)
        berth_strvec_push(&words, strsep(&rest, " "));
    berth_strvec_pushf(&environment, "PWD=dir");
    berth_strvec_pushf(&environment, "HOME=%s", place);
    berth_strvec_push(&environment, variable);
    ck_assert_int_eq(
        berth_hostfiles_check(&files, words.items, environment.items, &err),
        *err.text ? -1 : 0);
    return strdup(err.text);
}

#define SENTENCE                                                                       \
    "%s: '%s': the container and the host do not share this path; use a directory "    \
    "that both have, such as %s"

TEST_ROWS(words_that_name_files, lines)
{
    BERTH_FREE char *result = check(lines[_i].words, "both", "X=");
    char sentence[200] = "";

    if (lines[_i].option)
        snprintf(sentence, sizeof(sentence), SENTENCE, lines[_i].option, lines[_i].path,
                 "both");
    ck_assert_str_eq(result, sentence);
}

static const struct {
    const char *variable;
    const char *words;
    const char *path; /* that is refused; NULL: none */
} variables[] = {
    {"SRUN_INPUT=f", "srun x", "f"},           {"SRUN_ERROR=dir/e", "srun x", "dir/e"},
    {"SRUN_OUTPUT=o.%t", "srun x", "o.%t"},    {"SLURM_STDINMODE=f", "srun x", "f"},
    {"SLURM_STDOUTMODE=o", "srun x", "o"},     {"SLURM_STDERRMODE=e", "srun x", "e"},
    {"SRUN_OUTPUT=both/o", "srun x", NULL},    {"SRUN_OUTPUT=none", "srun x", NULL},
    {"SRUN_OUTPUT=dir/o", "srun x", NULL}, /* is the host's */
    {"SRUN_OUTPUT=/dev/null", "srun x", NULL}, {"SRUN_OUTPUT=o", "sinfo", NULL},
};

TEST_ROWS(variables_that_name_files, variables)
{
    BERTH_FREE char *result =
        check(variables[_i].words, "both", variables[_i].variable);
    BERTH_FREE char *name =
        strndup(variables[_i].variable, strcspn(variables[_i].variable, "="));
    char sentence[200] = "";

    if (variables[_i].path)
        snprintf(sentence, sizeof(sentence), SENTENCE, name, variables[_i].path,
                 "both");
    ck_assert_str_eq(result, sentence);
}

TEST(no_place_that_both_have)
{
    BERTH_FREE char *result = check("srun -i f x", "dir", "X=");
    char sentence[200];

    snprintf(sentence, sizeof(sentence), SENTENCE, "--input", "f",
             "one of --container-mounts");
    ck_assert_str_eq(result, sentence);
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
    tcase_add_checked_fixture(tests, set_up, NULL);
}
