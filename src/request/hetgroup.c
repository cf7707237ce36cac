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

void berth_hetgroups_init(struct berth_hetgroups *state, const char *prefix,
                          const char *cmdline, size_t count)
{
    *state = (struct berth_hetgroups){.prefix = prefix};
    berth_environ_split(cmdline, count, &state->argv);
}

/* The index after the options of the current spec; getopt's OPTIND is 0 before it has
 * read one. */
static size_t options_end(const struct berth_hetgroups *state, int optind)
{
    size_t end = state->spec + 1;

    if (optind > 0)
        end = state->spec + (size_t)optind;
    if (end > state->argv.count)
        return state->argv.count;
    return end;
}

/* The arguments of a spec that starts at index SPEC, up to index END. None if END is at
 * the start. */
static struct berth_arguments read_from(const struct berth_hetgroups *state,
                                        size_t spec, size_t end)
{
    struct berth_arguments arguments = {.prefix = state->prefix};

    if (state->argv.count == 0)
        return arguments;
    arguments.program = berth_slurm_program_of(state->argv.items[0]);
    arguments.next = state->argv.items + spec + 1;
    arguments.end = state->argv.items + end;
    if (end <= spec)
        arguments.end = arguments.next;
    return arguments;
}

struct berth_arguments berth_hetgroups_options(const struct berth_hetgroups *state,
                                               int optind)
{
    size_t end = options_end(state, optind);

    return read_from(state, state->spec, end);
}

struct berth_arguments berth_hetgroups_all(const struct berth_hetgroups *state)
{
    return read_from(state, 0, state->argv.count);
}

bool berth_hetgroups_find_option(const struct berth_hetgroups *state, int optind,
                                 const char *name, const char **ret_value)
{
    struct berth_arguments arguments = berth_hetgroups_options(state, optind);
    struct berth_argument argument;
    bool is_found = false;

    while (berth_arguments_next(&arguments, &argument)) {
        if (!berth_argument_is(&argument, name))
            continue;
        is_found = true;
        if (ret_value)
            *ret_value = argument.value;
    }
    return is_found;
}

/* Returns VALUE, or "" if the option has none: then it is NULL, or Slurm's "(null)"
 * where the value is optional. */
static const char *plain_value(const char *value)
{
    if (!value || strcmp(value, "(null)") == 0)
        return "";
    return value;
}

/* Are the texts A and B of a value the same? */
static bool same_value(const char *a, const char *b)
{
    return strcmp(plain_value(a), plain_value(b)) == 0;
}

/* getopt has left OPTIND after the option that it has just read. Another list of
 * arguments may have the same option at the same place: then both say the same. */
bool berth_hetgroups_is_typed(const struct berth_hetgroups *state, int optind,
                              enum berth_option_id id, const char *value)
{
    const bool is_later = state->specs > 0 && state->next_spec < state->argv.count;
    size_t start = state->spec;
    size_t end;
    struct berth_arguments arguments;
    struct berth_argument argument = {0};

    if (state->argv.failed || state->argv.count == 0)
        return true;
    if (is_later)
        start = state->next_spec;
    end = start;
    if (optind > 0)
        end += (size_t)optind;
    if (end > state->argv.count)
        return false;

    arguments = read_from(state, start, end);
    while (berth_arguments_next(&arguments, &argument))
        if (arguments.next == arguments.end)
            return berth_argument_is_ours(&argument, id) &&
                   same_value(argument.value, value);
    return false;
}

unsigned long berth_hetgroups_tasks(const struct berth_hetgroups *state, int optind)
{
    const char *value = NULL;

    berth_hetgroups_find_option(state, optind, "ntasks", &value);
    if (!value || !isdigit((unsigned char)*value))
        return 0;
    return strtoul(value, NULL, 10);
}

size_t berth_hetgroups_command(const struct berth_hetgroups *state, int optind,
                               size_t *ret_end)
{
    size_t start = options_end(state, optind);
    size_t end = start;

    while (end < state->argv.count && strcmp(state->argv.items[end], ":") != 0)
        end++;
    *ret_end = end;
    return start;
}

bool berth_hetgroups_is_first(const struct berth_hetgroups *state)
{
    return state->group_at <= 1;
}

/* Copies VALUE without the brackets around it, if it has them. NULL: one is missing. */
static char *copy_without_brackets(const char *value)
{
    size_t length = strlen(value);

    if (*value != '[')
        return strdup(value);
    if (value[length - 1] != ']')
        return NULL;
    return strndup(value + 1, length - 2);
}

/* Lists the groups in VALUE of --het-group: "0", "0,2", "0-2,4", or one of these in
 * brackets. Lists none if VALUE has another form. */
static void list_groups(struct berth_hetgroups *state, const char *value)
{
    BERTH_FREE char *groups = copy_without_brackets(value);

    if (!groups || !isdigit((unsigned char)*groups) ||
        berth_ranks_check(groups, NULL) < 0)
        return;
    if (berth_ranks_measure(groups).last > BERTH_GROUP_MAX)
        return;
    for (int group = 0; group <= BERTH_GROUP_MAX; group++)
        if (berth_ranks_has(groups, (unsigned int)group, NULL))
            state->groups[state->group_count++] = group;
}

static void start_spec(struct berth_hetgroups *state, int optind)
{
    const char *value = NULL;

    if (state->specs > 0)
        state->spec = state->next_spec;
    state->group_count = 0;
    state->group_at = 0;
    if (berth_hetgroups_find_option(state, optind, "het-group", &value) ||
        berth_hetgroups_find_option(state, optind, "pack-group", &value))
        list_groups(state, berth_text_or(value, ""));
    else if (state->specs <= BERTH_GROUP_MAX)
        state->groups[state->group_count++] = state->specs;
    state->specs++;
    berth_hetgroups_command(state, optind, &state->next_spec);
}

int berth_hetgroups_next(struct berth_hetgroups *state, int optind)
{
    if (state->argv.failed || state->argv.count == 0 || berth_hetgroups_ended(state))
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
           state->next_spec >= state->argv.count;
}
