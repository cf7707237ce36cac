/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines of srun, sbatch and salloc, as options, values and commands. */

#include "request/arguments.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/strvec.h"
#include "unit.h"

/* Each argument read from TEXT, which has blanks between its words: Slurm's options by
 * their name, ours with a star before it, others with a question mark. */
static char *read_all(const char *text, const char *prefix)
{
    BERTH_STRVEC struct berth_strvec argv = {0};
    BERTH_FREE char *copy = strdup(text);
    struct berth_buf result = {0};
    struct berth_arguments arguments;
    struct berth_argument argument;

    for (char *rest = copy; rest;)
        berth_strvec_push(&argv, strsep(&rest, " "));
    arguments = berth_arguments_begin(argv.items, prefix);
    while (berth_arguments_next(&arguments, &argument)) {
        if (result.used > 0)
            berth_buf_puts(&result, " ");
        if (argument.command)
            berth_buf_addf(&result, "(%s)", *argument.command);
        else if (argument.slurm)
            berth_buf_puts(&result, argument.slurm->name);
        else if (argument.ours)
            berth_buf_addf(&result, "*%s", argument.ours->name);
        else
            berth_buf_puts(&result, "?");
        if (argument.value)
            berth_buf_addf(&result, "=%s", argument.value);
    }
    berth_buf_puts(&result, "");
    return result.text;
}

static const struct {
    const char *text, *read;
} lines[] = {
    {"srun", ""},
    {"srun a", "(a)"},
    {"srun -n 2 a -n 3", "ntasks=2 (a)"},
    {"srun -n2 a", "ntasks=2 (a)"},
    {"srun -ln2 a", "label ntasks=2 (a)"},
    {"srun -ln 2 a", "label ntasks=2 (a)"},
    {"srun -lIl a", "label immediate=l (a)"},
    {"srun -I 5", "immediate (5)"},
    {"srun -n", "ntasks"},
    {"srun --ntasks=2 a", "ntasks=2 (a)"},
    {"srun --ntasks 2 a", "ntasks=2 (a)"},
    {"srun --ntasks= a", "ntasks= (a)"},
    {"srun --ntasks", "ntasks"},
    {"srun --nice a", "nice (a)"},
    {"srun --nice=5 a", "nice=5 (a)"},
    {"srun --label a", "label (a)"},
    /* the value may look like an option, or like the end of a component */
    {"srun --comment --label a", "comment=--label (a)"},
    {"srun -J : a", "job-name=: (a)"},
    /* abbreviations */
    {"srun --lab --out f a", "label output=f (a)"},
    {"srun --mem 1 --mem-p 2 a", "mem=1 ?=2 (a)"},
    {"srun --contai a b", "?=a (b)"},
    /* `--container` and `--container-id` are Slurm's, other names are ours */
    {"srun --container b a", "container=b (a)"},
    {"srun --container-id b a", "container-id=b (a)"},
    {"srun --container-im b a", "*container-image=b (a)"},
    /* of two, that of the older release: the release that accepts it has no other */
    {"srun --pref a b", "prefer=a (b)"},
    {"srun --ext a b", "extra-node-info=a (b)"},
    {"srun --wait 5 a", "wait=5 (a)"},
    {"srun --wait- a", "wait-for-children (a)"},
    /* ours: with a value, without one, with one that may be left out */
    {"srun --container-image b a", "*container-image=b (a)"},
    {"srun --container-writable a", "*container-writable (a)"},
    {"srun --mpi-bind a", "*mpi-bind (a)"},
    {"srun --mpi-bind=host a", "*mpi-bind=host (a)"},
    {"srun --mpi pmix a", "mpi=pmix (a)"},
    /* of other plugins */
    {"srun --x11vnc b a", "?=b (a)"},
    {"srun --x11vnc --label a", "? label (a)"},
    {"srun --x11vnc : a", "? (a)"},
    /* components and commands */
    {"srun a -n 1 : -n 2 b", "(a) ntasks=2 (b)"},
    {"srun -l : -n2 b", "label ntasks=2 (b)"},
    {"srun : : b", "(b)"},
    {"srun -- -n 2 : -l b", "(-n) label (b)"},
    {"srun --", ""},
    {"srun - -n 2", "(-)"},
    {"/usr/bin/sbatch -W 5", "wait (5)"},
    {"sbatch --wait a : -n 5", "wait (a)"},
    {"sbatch -a 1 --wrap x", "array=1 wrap=x"},
    {"salloc -K TERM a : -n 5", "kill-command (TERM)"},
    {"srun -a 1", "? (1)"},
};

TEST_ROWS(a_command_line_is_read_as_slurm_does, lines)
{
    BERTH_FREE char *text = read_all(lines[_i].text, "");

    ck_assert_str_eq(text, lines[_i].read);
}

static const struct {
    const char *prefix, *text, *read;
} prefixed[] = {
    {"site-", "srun --site-container-image b a", "*container-image=b (a)"},
    {"site-", "srun --site-mpi-b a", "*mpi-bind (a)"},
    {"site-", "srun --site-container-w a b", "?=a (b)"},
    {"site-", "srun --container-writable b a", "?=b (a)"},
    {NULL, "srun --site-container-image b a", "*container-image=b (a)"},
    {NULL, "srun --container-image b a", "*container-image=b (a)"},
    {NULL, "srun --container-im b a", "?=b (a)"},
};

TEST_ROWS(our_options_have_the_prefix_of_the_site, prefixed)
{
    BERTH_FREE char *text = read_all(prefixed[_i].text, prefixed[_i].prefix);

    ck_assert_str_eq(text, prefixed[_i].read);
}

static const struct {
    const char *text;
    bool is_found;
} full[] = {
    {"--container-image", true},    {"--container-image=a", true},
    {"--container-im", false},      {"--container-images=a", false},
    {"-container-image", false},    {"container-image", false},
    {"--x-container-image", false}, {"--", false},
};

TEST_ROWS(our_option_is_named_in_full, full)
{
    const struct berth_option *option = berth_argument_find_ours(full[_i].text, "");

    ck_assert_int_eq(option == &berth_options[BERTH_OPTION_IMAGE], full[_i].is_found);
}

/* Each row can be found: names ascend, and rows of a name do not overlap. */
TEST(the_table_is_in_order)
{
    const struct berth_slurm_option *row = berth_slurm_options;

    ck_assert_ptr_nonnull(row->name);
    for (; row[1].name; row++) {
        int order = strcmp(row->name, row[1].name);

        ck_assert_msg(order <= 0, "%s is after %s", row[1].name, row->name);
        ck_assert_msg(row->since < row->until, "%s", row->name);
        ck_assert_msg(order < 0 || !(row->programs & row[1].programs) ||
                          row->until <= row[1].since || row[1].until <= row->since,
                      "%s has two rows for one release", row->name);
    }
}
