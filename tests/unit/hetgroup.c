/* SPDX-License-Identifier: Apache-2.0 */
/* From srun's command line to het groups. Each command line is read here with getopt as
 * srun reads it, so that `optind` is what the plugin sees. */

#include "commandline/hetgroup.h"

#include <getopt.h>

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
    {{"srun", "--het-group=1,", "a"}, {1}, {BERTH_GROUP_UNKNOWN, NO_MORE}},
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

/* WORDS as a /proc/PID/cmdline. The caller frees it. */
static char *join(const char *const *words, int count, size_t *ret_length)
{
    size_t length = 0;
    char *bytes = NULL;

    for (int i = 0; i < count; i++) {
        size_t more = strlen(words[i]) + 1;

        bytes = realloc(bytes, length + more);
        memcpy(bytes + length, words[i], more);
        length += more;
    }
    *ret_length = length;
    return bytes;
}

static int count_of(const char *const *words)
{
    int count = 0;

    while (count < MOST && words[count])
        count++;
    return count;
}

START_TEST(each_reading_has_its_group)
{
    struct berth_hetgroups state;
    char *words[MOST + 1] = {NULL};
    int count = count_of(lines[_i].words);
    size_t length;
    char *bytes = join(lines[_i].words, count, &length);
    const int *expected = lines[_i].groups;
    int spec = 0;

    for (int i = 0; i < count; i++)
        words[i] = (char *)lines[_i].words[i];
    berth_hetgroups_init(&state, bytes, length);
    for (int n = 0; n < 4 && lines[_i].rounds[n]; n++) {
        int end = 0;

        for (int round = 0; round < lines[_i].rounds[n]; round++) {
            end = read_options(count - spec, words + spec);
            ck_assert_int_eq(berth_hetgroups_next(&state, end), *expected++);
        }
        for (spec += end; spec < count && strcmp(words[spec], ":") != 0; spec++)
            ;
    }
    ck_assert_int_eq(*expected, NO_MORE);
    berth_strvec_fini(&state.words);
    free(bytes);
}
END_TEST

static const struct {
    const char *bytes;
    size_t count;
    int optind;
} odd[] = {
    {"", 0, 1},
    {NULL, 0, 1},
};

START_TEST(no_command_line_no_group)
{
    struct berth_hetgroups state;

    berth_hetgroups_init(&state, odd[_i].bytes, odd[_i].count);
    ck_assert_int_eq(berth_hetgroups_next(&state, odd[_i].optind), BERTH_GROUP_UNKNOWN);
    ck_assert_int_eq(berth_hetgroups_next(&state, odd[_i].optind), BERTH_GROUP_UNKNOWN);
    berth_strvec_fini(&state.words);
}
END_TEST

static const int strange_optinds[] = {-1, 0, 2, 3, 1000};

START_TEST(a_strange_optind_stays_in_bounds)
{
    struct berth_hetgroups state;

    berth_hetgroups_init(&state, "srun\0--het-group", 16);
    berth_hetgroups_next(&state, strange_optinds[_i]);
    berth_hetgroups_next(&state, strange_optinds[_i]);
    berth_strvec_fini(&state.words);
}
END_TEST

START_TEST(a_cut_command_line_is_read_to_its_end)
{
    struct berth_hetgroups state;

    berth_hetgroups_init(&state, "srun\0--het-group=12", 18);
    ck_assert_uint_eq(state.words.count, 2);
    ck_assert_str_eq(state.words.items[1], "--het-group=1");
    berth_strvec_fini(&state.words);
}
END_TEST

START_TEST(empty_words_count)
{
    struct berth_hetgroups state;

    berth_hetgroups_init(&state, "srun\0\0a\0\0", 9);
    ck_assert_uint_eq(state.words.count, 4);
    ck_assert_str_eq(state.words.items[1], "");
    ck_assert_str_eq(state.words.items[3], "");
    berth_strvec_fini(&state.words);
}
END_TEST

static const struct {
    const char *words[MOST];
    bool found;
    const char *value;
} asked[] = {
    {{"srun", "--multi-prog", "conf"}, true, NULL},
    {{"srun", "--multi", "conf"}, true, NULL},
    {{"srun", "--mu", "conf"}, true, NULL},
    {{"srun", "--multi-progx", "conf"}, false, NULL},
    {{"srun", "-n2", "a", "--multi-prog"}, false, NULL},
    {{"srun", "a"}, false, NULL},
};

START_TEST(an_option_of_the_spec_is_found)
{
    struct berth_hetgroups state;
    char *words[MOST + 1] = {NULL};
    int count = count_of(asked[_i].words);
    size_t length;
    char *bytes = join(asked[_i].words, count, &length);
    int end;

    for (int i = 0; i < count; i++)
        words[i] = (char *)asked[_i].words[i];
    end = read_options(count, words);
    berth_hetgroups_init(&state, bytes, length);
    berth_hetgroups_next(&state, end);
    ck_assert_int_eq(berth_hetgroups_option(&state, end, "multi-prog", 2, NULL),
                     asked[_i].found);
    berth_strvec_fini(&state.words);
    free(bytes);
}
END_TEST

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

START_TEST(the_tasks_of_the_spec_are_counted)
{
    struct berth_hetgroups state;
    const char *const *words = counted[_i].words;
    int count = count_of(words);
    size_t length;
    char *bytes = join(words, count, &length);
    int end = count;

    for (int i = 0; i < count; i++)
        if (strcmp(words[i], "a") == 0)
            end = i;
    berth_hetgroups_init(&state, bytes, length);
    berth_hetgroups_next(&state, end);
    ck_assert_uint_eq(berth_hetgroups_tasks(&state, end), counted[_i].tasks);
    berth_strvec_fini(&state.words);
    free(bytes);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("hetgroup");

    tcase_add_loop_test(tests, each_reading_has_its_group, 0, COUNT(lines));
    tcase_add_loop_test(tests, no_command_line_no_group, 0, COUNT(odd));
    tcase_add_loop_test(tests, a_strange_optind_stays_in_bounds, 0,
                        COUNT(strange_optinds));
    tcase_add_test(tests, a_cut_command_line_is_read_to_its_end);
    tcase_add_test(tests, empty_words_count);
    tcase_add_loop_test(tests, an_option_of_the_spec_is_found, 0, COUNT(asked));
    tcase_add_loop_test(tests, the_tasks_of_the_spec_are_counted, 0, COUNT(counted));
    return unit_run("hetgroup", tests);
}
