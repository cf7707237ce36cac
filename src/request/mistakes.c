/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes probable mistakes by the words of a command line or script. */

#include "request/mistakes.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "request/option.h"

/* Is COMMAND a program that has our options? */
static bool takes_our_options(const char *command)
{
    static const char *const names[] = {"srun", "sbatch", "salloc", "berth", NULL};

    return berth_text_is_any(berth_text_base(command), names);
}

/* The option of ours that WORD names in full; NULL: none. */
static const struct berth_option *option_of(const char *word, const char *prefix)
{
    size_t length = strlen(prefix);
    const char *name = word + strlen("--") + length;

    if (!berth_text_starts(word, "--") || strncmp(word + 2, prefix, length) != 0)
        return NULL;
    for (int id = 0; id < BERTH_OPTION_COUNT; id++) {
        size_t end = strlen(berth_options[id].name);

        if (strncmp(name, berth_options[id].name, end) == 0 &&
            (name[end] == '=' || name[end] == '\0'))
            return &berth_options[id];
    }
    return NULL;
}

/* Is the value of OPTION, which WORD names, the next word? */
static bool has_value_behind(const struct berth_option *option, const char *word)
{
    return option->argument && !berth_option_is_optional(option) && !strchr(word, '=');
}

/* The index of the first option of ours in the COUNT words of a command. 0: none, or
 * the command may have such options. */
static size_t find_option(char *const *words, size_t count, const char *prefix)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        if (takes_our_options(words[i]) || strcmp(words[i], "--") == 0)
            return found;
        if (i > 0 && !found && option_of(words[i], prefix))
            found = i;
    }
    return found;
}

static void say_misplaced(const char *program, const char *place, const char *word,
                          struct berth_err *ret)
{
    berth_err_set(ret,
                  "'%s' %sgets '%s' as an argument; write options before the command",
                  program, place, word);
}

bool berth_mistake_misplaced(const struct berth_typed *typed, struct berth_err *ret)
{
    size_t end;
    size_t command = berth_hetgroups_command(typed->line, typed->optind, &end);
    char **words = typed->line->words.items + command;
    size_t count = command < end ? end - command : 0;
    size_t at = find_option(words, count, typed->prefix);
    bool has_more;

    if (at == 0)
        return false;
    has_more = has_value_behind(option_of(words[at], typed->prefix), words[at]) &&
               at + 1 < count;
    say_misplaced(words[0], typed->is_contained ? "" : "runs on the host and ",
                  words[at], ret);
    if (has_more)
        berth_err_set(ret, "%s: %s %s %s %s", ret->text, typed->caller, words[at],
                      words[at + 1], words[0]);
    else
        berth_err_set(ret, "%s: %s %s %s", ret->text, typed->caller, words[at],
                      words[0]);
    return true;
}

bool berth_mistake_on_line(char *const *words, const char *prefix,
                           struct berth_err *ret)
{
    size_t count = 0;
    size_t at;

    while (words[count])
        count++;
    at = find_option(words, count, prefix);
    if (at == 0)
        return false;
    say_misplaced(words[0], "", words[at], ret);
    return true;
}

/* Does the line have an image, or an option of ours anywhere? */
static bool has_our_option(const struct berth_typed *typed)
{
    if (typed->is_contained)
        return true;
    for (size_t i = 1; i < typed->line->words.count; i++)
        if (option_of(typed->line->words.items[i], typed->prefix))
            return true;
    return false;
}

/* Options of srun with which a component often begins. */
static bool is_component_option(const char *word, const char *next, const char *prefix)
{
    static const char *const names[] = {"--cpus-per-task", "--het-group", "--mpi",
                                        "--nodelist",      "--nodes",     "--ntasks",
                                        "--partition",     NULL};
    const char *number = word + 2;

    if (word[0] != '-' || !word[1])
        return false;
    if (strchr("nNc", word[1])) /* other programs have them, too: only with a number */
        return isdigit((unsigned char)*(*number ? number : next));
    return option_of(word, prefix) || berth_text_starts_any(word, names);
}

/* Does a component begin at the COUNT words WORDS, the first of which stands for
 * OPTION? Only if OPTION is one of srun and a command follows. */
static bool begins_component(const char *option, char *const *words, size_t count,
                             const char *prefix)
{
    const char *next = count > 1 ? words[1] : "";

    if (!is_component_option(option, next, prefix))
        return false;
    /* A word with a digit first is the value of an option: no command begins so. */
    for (size_t i = 1; i < count; i++)
        if (words[i][0] != '-' && !isdigit((unsigned char)words[i][0]))
            return true;
    return false;
}

bool berth_mistake_colon(const struct berth_typed *typed, struct berth_err *ret)
{
    size_t end;
    size_t command = berth_hetgroups_command(typed->line, typed->optind, &end);
    char **words = typed->line->words.items;

    if (!has_our_option(typed))
        return false;
    for (size_t i = command; i < end; i++) {
        const char *word = words[i];
        size_t length = strlen(word);
        bool is_first = i > command && word[0] == ':' &&
                        begins_component(word + 1, words + i, end - i, typed->prefix);
        const char *left = is_first ? words[command] : word;

        if (!is_first && !(i + 1 < end && length > 1 && word[length - 1] == ':' &&
                           begins_component(words[i + 1], words + i + 1, end - i - 1,
                                            typed->prefix)))
            continue;
        berth_err_set(ret,
                      "the colon in '%s' does not begin a component; write blanks "
                      "around it: %.*s : %s",
                      word, (int)(strlen(left) - !is_first), left,
                      is_first ? word + 1 : words[i + 1]);
        return true;
    }
    return false;
}
