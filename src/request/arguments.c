/* SPDX-License-Identifier: Apache-2.0 */
/* Reads command lines of Slurm by the table of its options and the table of ours. */

#include "request/arguments.h"

#include <limits.h>
#include <string.h>

#include "base/text.h"

/* A long option on the command line: --NAME, --NAME=VALUE. */
struct long_option {
    const char *name; /* after the dashes */
    size_t length;    /* of the name */
    const char *value;
};

static struct long_option split(const char *text)
{
    struct long_option option = {.name = text + strlen("--")};

    option.length = strcspn(option.name, "=");
    if (option.name[option.length] == '=')
        option.value = option.name + option.length + 1;
    return option;
}

static bool is_name(const struct long_option *option, const char *name)
{
    return strlen(name) == option->length &&
           strncmp(option->name, name, option->length) == 0;
}

static bool abbreviates(const struct long_option *option, const char *name)
{
    return strncmp(option->name, name, option->length) == 0;
}

/* Cuts PREFIX from the front of OPTION. Returns false if it has another. */
static bool cut_prefix(struct long_option *option, const char *prefix)
{
    size_t length = strlen(prefix);

    if (option->length < length || strncmp(option->name, prefix, length) != 0)
        return false;
    option->name += length;
    option->length -= length;
    return true;
}

/* Cuts what is before NAME at the end of OPTION: any prefix. */
static bool cut_any_prefix(struct long_option *option, const char *name)
{
    size_t length = strlen(name);

    if (option->length < length)
        return false;
    option->name += option->length - length;
    option->length = length;
    return true;
}

/* Is OPTION, which may have a PREFIX of the site (NULL: any), NAME in full? */
static bool is_our_name(struct long_option option, const char *prefix, const char *name)
{
    bool is_cut;

    if (prefix)
        is_cut = cut_prefix(&option, prefix);
    else
        is_cut = cut_any_prefix(&option, name);
    return is_cut && is_name(&option, name);
}

static const struct berth_option *find_our_name(const struct long_option *option,
                                                const char *prefix)
{
    for (int id = 0; id < BERTH_OPTIONS_ALL; id++)
        if (is_our_name(*option, prefix, berth_options[id].name))
            return &berth_options[id];
    return NULL;
}

static const struct berth_slurm_option *
find_slurm_name(const struct long_option *option, enum berth_slurm_program program)
{
    const struct berth_slurm_option *row = berth_slurm_options;

    for (; row->name; row++)
        if ((row->programs & program) && is_name(option, row->name))
            return row;
    return NULL;
}

/* Finds what an abbreviation means. Slurm refuses one that two of its options begin
 * with, so what is accepted means the option that a release had first: the others are
 * of later releases than the one that reads. */
struct meaning {
    const struct berth_slurm_option *slurm;
    const struct berth_option *ours;
    int since;
    bool is_ambiguous;
};

/* Is a meaning of SINCE older than those found before? Notes two of the same age. */
static bool is_older(struct meaning *meaning, int since)
{
    if (since == meaning->since)
        meaning->is_ambiguous = true;
    if (since >= meaning->since)
        return false;
    meaning->since = since;
    meaning->is_ambiguous = false;
    return true;
}

static void find_slurm_abbreviated(const struct long_option *option,
                                   enum berth_slurm_program program,
                                   struct meaning *ret)
{
    const struct berth_slurm_option *row = berth_slurm_options;

    for (; row->name; row++) {
        bool is_known = ret->slurm && strcmp(ret->slurm->name, row->name) == 0;
        bool is_meant = (row->programs & program) && abbreviates(option, row->name);

        if (is_meant && !is_known && is_older(ret, row->since))
            ret->slurm = row;
    }
}

static void find_ours_abbreviated(struct long_option option, const char *prefix,
                                  struct meaning *ret)
{
    if (!cut_prefix(&option, prefix))
        return;
    for (int id = 0; id < BERTH_OPTIONS_ALL; id++)
        if (abbreviates(&option, berth_options[id].name) && is_older(ret, 0)) {
            ret->slurm = NULL;
            ret->ours = &berth_options[id];
        }
}

/* Sets the option of ARGUMENT that OPTION names: in full, or abbreviated. */
static void identify(const struct berth_arguments *arguments,
                     const struct long_option *option, struct berth_argument *argument)
{
    struct meaning meaning = {.since = INT_MAX};

    argument->slurm = find_slurm_name(option, arguments->program);
    if (!argument->slurm)
        argument->ours = find_our_name(option, arguments->prefix);
    if (argument->slurm || argument->ours)
        return;

    find_slurm_abbreviated(option, arguments->program, &meaning);
    if (arguments->prefix)
        find_ours_abbreviated(*option, arguments->prefix, &meaning);
    if (meaning.is_ambiguous)
        return;
    argument->slurm = meaning.slurm;
    argument->ours = meaning.ours;
}

static bool is_option(const char *text)
{
    return text[0] == '-' && text[1] != '\0';
}

/* May the next argument be the value of ARGUMENT, which has none behind an equals sign?
 */
static bool takes_next(const struct berth_arguments *arguments,
                       const struct berth_argument *argument)
{
    if (arguments->next == arguments->end)
        return false;
    if (argument->slurm)
        return argument->slurm->need == BERTH_ARGUMENT_REQUIRED;
    if (argument->ours)
        return argument->ours->argument && !berth_option_is_optional(argument->ours);
    return **arguments->next != '-' && strcmp(*arguments->next, ":") != 0;
}

static void read_long(struct berth_arguments *arguments, const char *text,
                      struct berth_argument *ret)
{
    const struct long_option option = split(text);

    ret->name = text;
    ret->value = option.value;
    identify(arguments, &option, ret);
    if (!ret->value && takes_next(arguments, ret))
        ret->value = *arguments->next++;
}

static const struct berth_slurm_option *find_letter(char letter,
                                                    enum berth_slurm_program program)
{
    const struct berth_slurm_option *row = berth_slurm_options;

    for (; row->name; row++)
        if ((row->programs & program) && row->letter == letter)
            return row;
    return NULL;
}

/* Reads the first option of a group of short ones. A value is the rest of the group, or
 * the next argument; an option that is not known has none. */
static void read_letter(struct berth_arguments *arguments, struct berth_argument *ret)
{
    const char *rest = arguments->letters + 1;

    ret->letter = *arguments->letters;
    ret->slurm = find_letter(ret->letter, arguments->program);
    arguments->letters = berth_text_given(rest);
    if (!ret->slurm || ret->slurm->need == BERTH_ARGUMENT_NONE)
        return;

    if (*rest)
        ret->value = rest;
    else if (takes_next(arguments, ret))
        ret->value = *arguments->next++;
    arguments->letters = NULL;
}

/* Moves to the options of the next component, or to the end. Only srun has a command in
 * each component. */
static void pass_command(struct berth_arguments *arguments)
{
    bool has_components = arguments->program == BERTH_SRUN;

    while (arguments->next < arguments->end) {
        if (has_components && strcmp(*arguments->next, ":") == 0)
            return;
        arguments->next++;
    }
}

static bool read_command(struct berth_arguments *arguments, struct berth_argument *ret)
{
    if (arguments->next == arguments->end)
        return false;
    ret->command = arguments->next;
    pass_command(arguments);
    return true;
}

struct berth_arguments berth_arguments_begin(char *const *argv, const char *prefix)
{
    struct berth_arguments arguments = {
        .program = berth_slurm_program_of(argv[0]),
        .prefix = prefix,
        .next = argv + 1,
        .end = argv + 1,
    };

    while (*arguments.end)
        arguments.end++;
    return arguments;
}

bool berth_arguments_next(struct berth_arguments *arguments, struct berth_argument *ret)
{
    const char *text;

    *ret = (struct berth_argument){0};
    if (arguments->letters) {
        read_letter(arguments, ret);
        return true;
    }

    while (arguments->next < arguments->end && strcmp(*arguments->next, ":") == 0)
        arguments->next++;
    if (arguments->next == arguments->end)
        return false;
    text = *arguments->next;
    if (!is_option(text))
        return read_command(arguments, ret);

    arguments->next++;
    if (strcmp(text, "--") == 0)
        return read_command(arguments, ret);
    if (text[1] == '-') {
        read_long(arguments, text, ret);
    } else {
        arguments->letters = text + 1;
        read_letter(arguments, ret);
    }
    return true;
}

bool berth_argument_is(const struct berth_argument *argument, const char *name)
{
    return argument->slurm && strcmp(argument->slurm->name, name) == 0;
}

bool berth_argument_is_ours(const struct berth_argument *argument,
                            enum berth_option_id id)
{
    return argument->ours == &berth_options[id];
}

const struct berth_option *berth_argument_find_ours(const char *text,
                                                    const char *prefix)
{
    struct long_option option;

    if (strncmp(text, "--", strlen("--")) != 0)
        return NULL;
    option = split(text);
    return find_our_name(&option, prefix);
}
