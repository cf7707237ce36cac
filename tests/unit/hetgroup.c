/* SPDX-License-Identifier: Apache-2.0 */
/* From srun's command line to het groups. Each command line is read here with getopt as
 * srun reads it, so that `optind` is what the plugin sees. */

#include "request/hetgroup.h"

#include <getopt.h>

#include "base/buf.h"
#include "unit.h"

enum { MOST = 24, NO_MORE = -9 };

/* The readings that srun makes of this command line, as the groups that berth says. The
 * number of readings of each spec is given in `rounds`. */
static const struct {
    const char *words[MOST];
    int rounds[4];
    int groups[8];
} lines[] = {
    {{"srun", "a"}, {1}, {0, NO_MORE}},
    {{"srun", "-n2", "a", "b"}, {1}, {0, NO_MORE}},
    {{"srun", "a", ":", "b"}, {1, 1}, {0, 1, NO_MORE}},
    {{"srun", "a", ":", "b", ":", "c", "x"}, {1, 1, 1}, {0, 1, 2, NO_MORE}},
    {{"srun", "-n", "1", "a", "-n", "x", ":", "-n", "1", "b"}, {1, 1}, {0, 1, NO_MORE}},
    /* a component without a command takes the next one's */
    {{"srun", "-n1", ":", "-n2", "b"}, {1, 1}, {0, 1, NO_MORE}},
    {{"srun", "--het-group=1", "a", ":", "--het-group=0", "b"},
     {1, 1},
     {1, 0, NO_MORE}},
    {{"srun", "--het-group", "2", "a", ":", "--het-group", "0", "b"},
     {1, 1},
     {2, 0, NO_MORE}},
    {{"srun", "--pack-group=1", "a", ":", "--pack-group", "0", "b"},
     {1, 1},
     {1, 0, NO_MORE}},
    {{"srun", "--het=1", "a"}, {1}, {1, NO_MORE}},
    {{"srun", "--het-g", "1", "a"}, {1}, {1, NO_MORE}},
    {{"srun", "--pac=1", "a"}, {1}, {1, NO_MORE}},
    {{"srun", "--pack=1", "a"}, {1}, {1, NO_MORE}},
    {{"srun", "--het-group=0,1", "a"}, {2}, {0, 1, NO_MORE}},
    {{"srun", "--het-group", "0,1", "a"}, {2}, {0, 1, NO_MORE}},
    {{"srun", "--het-group=2,0", "a"}, {2}, {0, 2, NO_MORE}},
    {{"srun", "--het-group=1-3", "a"}, {3}, {1, 2, 3, NO_MORE}},
    {{"srun", "--het-group=[0-2,4]", "a"}, {4}, {0, 1, 2, 4, NO_MORE}},
    {{"srun", "--het-group=0-1,3", "a", ":", "--het-group=2", "b"},
     {3, 1},
     {0, 1, 3, 2, NO_MORE}},
    {{"srun", "--het-group=127", "a"}, {1}, {127, NO_MORE}},
    {{"srun", "--het-group=1,1", "a"}, {1}, {1, NO_MORE}},
    /* the last one counts, as in srun */
    {{"srun", "--het-group=1", "--het-group=2", "a"}, {1}, {2, NO_MORE}},
    /* not an option of srun's: the command's own, or behind -- */
    {{"srun", "a", "--het-group=5"}, {1}, {0, NO_MORE}},
    {{"srun", "a", "--het-group=5", ":", "b", "--het-group", "6"},
     {1, 1},
     {0, 1, NO_MORE}},
    {{"srun", "--", "a", "--het-group=5"}, {1}, {0, NO_MORE}},
    {{"srun", "--hint=x", "a"}, {1}, {0, NO_MORE}},
    {{"srun", "--het-groups=1", "a"}, {1}, {0, NO_MORE}},
    /* another option's value */
    {{"srun", "--comment", "--het-group=1", "a"}, {1}, {0, NO_MORE}},
    {{"srun", "--comm", "--het-group=1", "a"}, {1}, {0, NO_MORE}},
    {{"srun", "-J", "--het-group=1", "a"}, {1}, {0, NO_MORE}},
    {{"srun", "--comment", "--comment", "--het-group=1", "a"}, {1}, {1, NO_MORE}},
    {{"srun", "--comment=x", "--het-group=1", "a"}, {1}, {1, NO_MORE}},
    {{"srun", "-Jx", "--het-group=1", "a"}, {1}, {1, NO_MORE}},
    /* a spec without the option has its own number, not the next free one */
    {{"srun", "--het-group=1", "a", ":", "b"}, {1, 1}, {1, 1, NO_MORE}},
    {{"srun", "a", ":", "--het-group=0", "b"}, {1, 1}, {0, 0, NO_MORE}},
    /* what cannot be read */
    {{"srun", "--het-group=", "a"}, {1}, {BERTH_GROUP_UNKNOWN, NO_MORE}},
    {{"srun", "--het-group=x", "a"}, {1}, {BERTH_GROUP_UNKNOWN, NO_MORE}},
    {{"srun", "--het-group=128", "a"}, {1}, {BERTH_GROUP_UNKNOWN, NO_MORE}},
    {{"srun", "--het-group=1000", "a"}, {1}, {BERTH_GROUP_UNKNOWN, NO_MORE}},
    {{"srun", "--het-group=12345", "a"}, {1}, {BERTH_GROUP_UNKNOWN, NO_MORE}},
    {{"srun", "--het-group=0-128", "a"}, {1}, {BERTH_GROUP_UNKNOWN, NO_MORE}},
    {{"srun", "--het-group=2-1", "a"}, {1}, {BERTH_GROUP_UNKNOWN, NO_MORE}},
    {{"srun", "--het-group=1,", "a"}, {1}, {1, NO_MORE}},
    {{"srun", "--het-group=,1", "a"}, {1}, {BERTH_GROUP_UNKNOWN, NO_MORE}},
    {{"srun", "--het-group=1-", "a"}, {1}, {BERTH_GROUP_UNKNOWN, NO_MORE}},
    {{"srun", "--het-group=-1", "a"}, {1}, {BERTH_GROUP_UNKNOWN, NO_MORE}},
    {{"srun", "--het-group=[1", "a"}, {1}, {BERTH_GROUP_UNKNOWN, NO_MORE}},
    {{"srun", "--het-group=1]", "a"}, {1}, {BERTH_GROUP_UNKNOWN, NO_MORE}},
    {{"srun", "--het-group=[1]2", "a"}, {1}, {BERTH_GROUP_UNKNOWN, NO_MORE}},
    {{"srun", "--het-group=1 ", "a"}, {1}, {BERTH_GROUP_UNKNOWN, NO_MORE}},
    {{"srun", "--het-group=x", "a", ":", "b"},
     {1, 1},
     {BERTH_GROUP_UNKNOWN, 1, NO_MORE}},
    /* more readings than the command line has specs */
    {{"srun", "a"}, {3}, {0, BERTH_GROUP_UNKNOWN, BERTH_GROUP_UNKNOWN, NO_MORE}},
};

/* srun's own reading of the words from SPEC on; returns optind. */
static int read_options(int count, char **words)
{
    static const struct option options[] = {
        {"ntasks", required_argument, NULL, 'n'},
        {"het-group", required_argument, NULL, 'g'},
        {"pack-group", required_argument, NULL, 'g'},
        {"partition", required_argument, NULL, 'p'},
        {"parsable", no_argument, NULL, 'p'},
        {"help", no_argument, NULL, 'h'},
        {"hint", required_argument, NULL, 'i'},
        {"multi-prog", no_argument, NULL, 'm'},
        {"comment", required_argument, NULL, 'c'},
        {NULL, 0, NULL, 0},
    };

    optind = 0;
    opterr = 0;
    while (getopt_long(count, words, "+n:J:", options, NULL) != -1)
        ;
    return optind;
}

/* A command line, as srun reads it and as the plugin does. */
struct line {
    char *words[MOST + 1];
    int count;
    struct berth_hetgroups state;
};

static void start(struct line *line, const char *const *words)
{
    BERTH_BUF struct berth_buf bytes = {0};

    *line = (struct line){0};
    for (; line->count < MOST && words[line->count]; line->count++) {
        line->words[line->count] = (char *)words[line->count];
        berth_buf_add(&bytes, words[line->count], strlen(words[line->count]) + 1);
    }
    berth_hetgroups_init(&line->state, "", bytes.text, bytes.used);
}

TEST_ROWS(each_reading_has_its_group, lines)
{
    struct line line;
    const int *expected = lines[_i].groups;
    int spec = 0;

    start(&line, lines[_i].words);
    for (int n = 0; n < 4 && lines[_i].rounds[n]; n++) {
        int end = 0;

        for (int round = 0; round < lines[_i].rounds[n]; round++) {
            end = read_options(line.count - spec, line.words + spec);
            ck_assert_int_eq(berth_hetgroups_next(&line.state, end), *expected++);
        }
        for (spec += end; spec < line.count && strcmp(line.words[spec], ":") != 0;
             spec++)
            ;
    }
    ck_assert_int_eq(*expected, NO_MORE);
    berth_strvec_fini(&line.state.argv);
}

TEST(no_command_line_no_group)
{
    const char *const bytes[] = {"", NULL};

    for (int i = 0; i < COUNT(bytes); i++) {
        struct berth_hetgroups state;

        berth_hetgroups_init(&state, "", bytes[i], 0);
        ck_assert_int_eq(berth_hetgroups_next(&state, 1), BERTH_GROUP_UNKNOWN);
        ck_assert_int_eq(berth_hetgroups_next(&state, 1), BERTH_GROUP_UNKNOWN);
        berth_strvec_fini(&state.argv);
    }
}

static const int strange_optinds[] = {-1, 0, 2, 3, 1000};

TEST_ROWS(a_strange_optind_stays_in_bounds, strange_optinds)
{
    struct berth_hetgroups state;

    berth_hetgroups_init(&state, "", "srun\0--het-group", 16);
    berth_hetgroups_next(&state, strange_optinds[_i]);
    berth_hetgroups_next(&state, strange_optinds[_i]);
    berth_strvec_fini(&state.argv);
}

TEST(a_cut_command_line_is_read_to_its_end)
{
    struct berth_hetgroups state;

    berth_hetgroups_init(&state, "", "srun\0--het-group=1", 18);
    ck_assert_uint_eq(state.argv.count, 2);
    ck_assert_str_eq(state.argv.items[1], "--het-group=1");
    berth_strvec_fini(&state.argv);
}

TEST(empty_words_count)
{
    struct berth_hetgroups state;

    berth_hetgroups_init(&state, "", "srun\0\0a\0\0", 9);
    ck_assert_uint_eq(state.argv.count, 4);
    ck_assert_str_eq(state.argv.items[1], "");
    ck_assert_str_eq(state.argv.items[3], "");
    berth_strvec_fini(&state.argv);
}

static const struct {
    const char *words[MOST];
    bool found;
} asked[] = {
    {{"srun", "--multi-prog", "conf"}, true},
    {{"srun", "--multi", "conf"}, true},
    {{"srun", "--mu", "conf"}, true},
    {{"srun", "--multi-progx", "conf"}, false},
    {{"srun", "-n2", "a", "--multi-prog"}, false},
    {{"srun", "a"}, false},
};

TEST_ROWS(an_option_of_the_spec_is_found, asked)
{
    struct line line;
    int end;

    start(&line, asked[_i].words);
    end = read_options(line.count, line.words);
    berth_hetgroups_next(&line.state, end);
    ck_assert_int_eq(berth_hetgroups_find_option(&line.state, end, "multi-prog", NULL),
                     asked[_i].found);
    berth_strvec_fini(&line.state.argv);
}

static const struct {
    const char *words[MOST];
    unsigned long tasks;
} counted[] = {
    {{"srun", "a"}, 0},
    {{"srun", "-n2", "a"}, 2},
    {{"srun", "-n", "3", "a"}, 3},
    {{"srun", "--ntasks=4", "a"}, 4},
    {{"srun", "--ntasks", "5", "a"}, 5},
    {{"srun", "-n2", "--ntasks=1", "a"}, 1},
    {{"srun", "--ntasks-per-node=4", "a"}, 0},
    {{"srun", "-N4", "--nice", "a"}, 0},
    {{"srun", "-nx", "a"}, 0},
    {{"srun", "-n"}, 0},
    {{"srun", "a", "-n6"}, 0},
    {{"srun", "-n2", "--comment", "-n6", "a"}, 2},
};

TEST_ROWS(the_tasks_of_the_spec_are_counted, counted)
{
    struct line line;
    int end;

    start(&line, counted[_i].words);
    end = line.count;
    for (int i = 0; i < line.count; i++)
        if (strcmp(line.words[i], "a") == 0)
            end = i;
    berth_hetgroups_next(&line.state, end);
    ck_assert_uint_eq(berth_hetgroups_tasks(&line.state, end), counted[_i].tasks);
    berth_strvec_fini(&line.state.argv);
}

static const struct {
    const char *words[MOST];
    int optind;
    enum berth_option_id id;
    const char *value;
    bool is_typed;
} typed[] = {
    {{"sbatch", "--container-image=b", "j"}, 2, BERTH_OPTION_IMAGE, "b", true},
    {{"sbatch", "--container-image", "b", "j"}, 3, BERTH_OPTION_IMAGE, "b", true},
    {{"sbatch", "-N1", "--container-im=b", "j"}, 3, BERTH_OPTION_IMAGE, "b", true},
    {{"sbatch", "--container-image=b", "j"}, 2, BERTH_OPTION_IMAGE, "a", false},
    {{"sbatch", "--container-image=b", "j"}, 2, BERTH_OPTION_WORKDIR, "b", false},
    {{"sbatch", "--container-image=b", "j"}, 3, BERTH_OPTION_IMAGE, "b", false},
    {{"sbatch", "--container-image=b", "j"}, 9, BERTH_OPTION_IMAGE, "b", false},
    {{"sbatch", "j"}, 2, BERTH_OPTION_IMAGE, "a", false},
    {{"sbatch", "j"}, 1, BERTH_OPTION_IMAGE, "a", false},
    {{"sbatch", "-J", "b", "j"}, 3, BERTH_OPTION_IMAGE, "b", false},
    {{"sbatch", "--container-writable", "j"}, 2, BERTH_OPTION_WRITABLE, NULL, true},
    {{"sbatch", "--mpi-bind", "j"}, 2, BERTH_OPTION_MPI, "(null)", true},
    {{"sbatch", "--mpi-bind=host", "j"}, 2, BERTH_OPTION_MPI, "(null)", false},
    /* the value of another option */
    {{"sbatch", "-J", "--container-image=b", "j"}, 3, BERTH_OPTION_IMAGE, "b", false},
    {{NULL}, 2, BERTH_OPTION_IMAGE, "a", true},
};

TEST_ROWS(a_script_s_options_are_not_typed, typed)
{
    struct line line;

    start(&line, typed[_i].words);
    ck_assert_int_eq(berth_hetgroups_is_typed(&line.state, typed[_i].optind,
                                              typed[_i].id, typed[_i].value),
                     typed[_i].is_typed);
    berth_strvec_fini(&line.state.argv);
}

/* sbatch --container-image=a : --container-image=b job */
TEST(options_of_a_later_component_are_typed)
{
    static const char *const words[MOST] = {
        "sbatch", "--container-image=a", ":", "--container-image=b", "job", NULL};
    struct line line;

    start(&line, words);
    ck_assert(berth_hetgroups_is_typed(&line.state, 2, BERTH_OPTION_IMAGE, "a"));
    ck_assert_int_eq(berth_hetgroups_next(&line.state, 2), 0);
    ck_assert(berth_hetgroups_is_typed(&line.state, 2, BERTH_OPTION_IMAGE, "b"));
    ck_assert(!berth_hetgroups_is_typed(&line.state, 2, BERTH_OPTION_IMAGE, "a"));
    berth_strvec_fini(&line.state.argv);
}
