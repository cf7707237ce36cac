/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the het group of each reading of srun in the command line of srun. */

#include "request/hetgroup.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/text.h"
#include "request/ranks.h"

void berth_hetgroups_init(struct berth_hetgroups *state, const char *cmdline,
                          size_t count)
{
    *state = (struct berth_hetgroups){0};
    berth_environ_split(cmdline, count, &state->words);
}

/* Is WORD the option --NAME, --NAME=VALUE or a prefix of at least MINIMUM letters, as
 * getopt_long allows? *RET_VALUE is the text after the equals sign, or NULL. */
static bool names_option(const char *word, const char *name, size_t minimum,
                         const char **ret_value)
{
    size_t length;

    if (!berth_text_starts(word, "--"))
        return false;
    word += 2;
    length = strcspn(word, "=");
    if (length < minimum || strncmp(word, name, length) != 0)
        return false;
    *ret_value = word[length] == '=' ? word + length + 1 : NULL;
    return true;
}

/* Options of srun whose values are free text, which may look like an option. */
static const struct {
    const char *name;
    char letter; /* '\0': there is none */
} texts[] = {
    {"comment", '\0'}, {"extra", '\0'}, {"job-name", 'J'}, {"output", 'o'},
    {"error", 'e'},    {"input", 'i'},  {"wckey", '\0'},   {"mcs-label", '\0'},
};

/* The index of the word after WORD and after the value of WORD. */
static size_t next_option(const struct berth_hetgroups *state, size_t word)
{
    const char *text = state->words.items[word];
    const char *value = NULL;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char letter[] = {'-', texts[i].letter, '\0'};

        if ((names_option(text, texts[i].name, 1, &value) && !value) ||
            (texts[i].letter && strcmp(text, letter) == 0))
            return word + 2;
    }
    return word + 1;
}

static size_t options_end(const struct berth_hetgroups *state, int optind)
{
    size_t end = state->spec + (optind > 0 ? (size_t)optind : 1);

    return end < state->words.count ? end : state->words.count;
}

/* SHORT_NAME, like "-n": the same option; NULL: it has none. */
static bool find_option(const struct berth_hetgroups *state, int optind,
                        const char *name, size_t minimum, const char *short_name,
                        const char **ret_value)
{
    size_t end = options_end(state, optind);
    bool found = false;

    *ret_value = NULL;
    for (size_t i = state->spec + 1; i < end; i = next_option(state, i)) {
        const char *word = state->words.items[i];
        const char *value = NULL;

        if (short_name && berth_text_starts(word, short_name))
            value = word[2] ? word + 2 : NULL;
        else if (!names_option(word, name, minimum, &value))
            continue;
        found = true;
        *ret_value = !value && i + 1 < end ? state->words.items[i + 1] : value;
    }
    return found;
}

bool berth_hetgroups_find_option(const struct berth_hetgroups *state, int optind,
                                 const char *name, size_t minimum,
                                 const char **ret_value)
{
    const char *value;

    return find_option(state, optind, name, minimum, NULL,
                       ret_value ? ret_value : &value);
}

/* Are the texts A and B of a value the same? NULL: an option without a value, for which
 * Slurm writes "(null)" where the value is optional. */
static bool same_value(const char *a, const char *b)
{
    static const char nothing[] = "(null)";
    const char *one = a && strcmp(a, nothing) != 0 ? a : "";
    const char *other = b && strcmp(b, nothing) != 0 ? b : "";

    return strcmp(one, other) == 0;
}

/* getopt has left OPTIND after the option that it has just read. Another list of words
 * may have the same option at the same place: then both say the same. */
bool berth_hetgroups_is_typed(const struct berth_hetgroups *state, int optind,
                              const char *name, const char *value)
{
    bool is_later = state->specs > 0 && state->next_spec < state->words.count;
    size_t start = is_later ? state->next_spec : state->spec;
    size_t end = start + (optind > 0 ? (size_t)optind : 0);
    char *const *words = state->words.items;
    const char *text = NULL;

    if (state->words.failed || state->words.count == 0)
        return true;
    if (end > state->words.count || end < start + 2)
        return false;
    if (names_option(words[end - 1], name, 1, &text) && same_value(text, value))
        return true;
    return end > start + 2 && value && strcmp(words[end - 1], value) == 0 &&
           names_option(words[end - 2], name, 1, &text) && !text;
}

unsigned long berth_hetgroups_tasks(const struct berth_hetgroups *state, int optind)
{
    const char *value;

    find_option(state, optind, "ntasks", strlen("ntasks"), "-n", &value);
    return value && isdigit((unsigned char)*value) ? strtoul(value, NULL, 10) : 0;
}

size_t berth_hetgroups_command(const struct berth_hetgroups *state, int optind,
                               size_t *ret_end)
{
    size_t start = options_end(state, optind);
    size_t end = start;

    while (end < state->words.count && strcmp(state->words.items[end], ":") != 0)
        end++;
    *ret_end = end;
    return start;
}

bool berth_hetgroups_is_first(const struct berth_hetgroups *state)
{
    return state->group_at <= 1;
}

/* Lists the groups in VALUE of --het-group: "0", "0,2", "0-2,4", or one of these in
 * brackets. Lists none if VALUE has another form. */
static void list_groups(struct berth_hetgroups *state, const char *value)
{
    bool bracket = *value == '[';
    size_t length = strlen(value);
    BERTH_FREE char *groups = NULL;

    if (bracket && value[length - 1] != ']')
        return;
    groups = strndup(value + bracket, length - 2 * bracket);
    if (!groups || !isdigit((unsigned char)*groups) ||
        berth_ranks_check(groups, NULL) < 0 ||
        berth_ranks_measure(groups).last > BERTH_GROUP_MAX)
        return;
    for (int group = 0; group <= BERTH_GROUP_MAX; group++)
        if (berth_ranks_has(groups, (unsigned int)group, NULL))
            state->groups[state->group_count++] = group;
}

static void start_spec(struct berth_hetgroups *state, int optind)
{
    const char *value = NULL;

    state->spec = state->specs == 0 ? 0 : state->next_spec;
    state->group_count = 0;
    state->group_at = 0;
    if (berth_hetgroups_find_option(state, optind, "het-group", 3, &value) ||
        berth_hetgroups_find_option(state, optind, "pack-group", 3, &value))
        list_groups(state, value ? value : "");
    else if (state->specs <= BERTH_GROUP_MAX)
        state->groups[state->group_count++] = state->specs;
    state->specs++;
    berth_hetgroups_command(state, optind, &state->next_spec);
}

int berth_hetgroups_next(struct berth_hetgroups *state, int optind)
{
    if (state->words.failed || state->words.count == 0 || berth_hetgroups_ended(state))
        return BERTH_GROUP_UNKNOWN;
    if (state->group_at >= state->group_count)
        start_spec(state, optind);
    if (state->group_count == 0)
        return BERTH_GROUP_UNKNOWN;
    return state->groups[state->group_at++];
}

bool berth_hetgroups_ended(const struct berth_hetgroups *state)
{
    return state->specs > 0 && state->group_at >= state->group_count &&
           state->next_spec >= state->words.count;
}
