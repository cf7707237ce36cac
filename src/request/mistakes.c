/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes probable mistakes on a command line or in a line of a --multi-prog file.
 */

#include "request/mistakes.h"

#include <ctype.h>
#include <string.h>

#include "base/strvec.h"
#include "base/text.h"
#include "request/option.h"

/* Is COMMAND a program that has our options? */
static bool takes_our_options(const char *command)
{
    static const char *const names[] = {"srun", "sbatch", "salloc", "berth", NULL};

    return berth_text_is_any(berth_text_base(command), names);
}

/* The index of the first option of ours in the COUNT arguments ARGV of a command. 0:
 * none, or the command may have such options. */
static size_t find_option(char *const *argv, size_t count, const char *prefix)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        if (takes_our_options(argv[i]) || strcmp(argv[i], "--") == 0)
            return found;
        if (i > 0 && !found && berth_argument_find_ours(argv[i], prefix))
            found = i;
    }
    return found;
}

/* Is the value of the option at ARGV[0] the argument after it? */
static bool takes_next(char *const *argv, const char *prefix)
{
    struct berth_arguments arguments = {
        .prefix = prefix, .next = argv, .end = argv + 2};
    struct berth_argument option;

    return berth_arguments_next(&arguments, &option) && option.value == argv[1];
}

static void say_misplaced(const char *program, const char *place, const char *option,
                          struct berth_err *ret)
{
    berth_err_set(ret,
                  "'%s' %sgets '%s' as an argument; write options before the command",
                  program, place, option);
}

bool berth_mistake_misplaced(const struct berth_typed *typed, struct berth_err *ret)
{
    size_t end;
    size_t command = berth_hetgroups_command(typed->line, typed->optind, &end);
    char **argv = typed->line->argv.items + command;
    size_t count = end - command;
    size_t at = find_option(argv, count, typed->prefix);
    const char *place = "runs on the host and ";

    if (at == 0)
        return false;
    if (typed->is_contained)
        place = "";
    say_misplaced(argv[0], place, argv[at], ret);
    if (at + 1 < count && takes_next(argv + at, typed->prefix))
        berth_err_set(ret, "%s: %s %s %s %s", ret->text, typed->caller, argv[at],
                      argv[at + 1], argv[0]);
    else
        berth_err_set(ret, "%s: %s %s %s", ret->text, typed->caller, argv[at], argv[0]);
    return true;
}

bool berth_mistake_on_line(char *const *argv, const char *prefix, struct berth_err *ret)
{
    size_t count = 0;
    size_t at;

    while (argv[count])
        count++;
    at = find_option(argv, count, prefix);
    if (at == 0)
        return false;
    say_misplaced(argv[0], "", argv[at], ret);
    return true;
}

/* Does the line have an image, or an option of ours anywhere? */
static bool has_our_option(const struct berth_typed *typed)
{
    if (typed->is_contained)
        return true;
    for (size_t i = 1; i < typed->line->argv.count; i++)
        if (berth_argument_find_ours(typed->line->argv.items[i], typed->prefix))
            return true;
    return false;
}

/* Is OPTION one with which a component of srun often begins? */
static bool begins_often(const struct berth_argument *option, const char *prefix)
{
    static const char *const names[] = {"--cpus-per-task", "--het-group", "--mpi",
                                        "--nodelist",      "--nodes",     "--ntasks",
                                        "--partition",     NULL};

    if (!option->name) {
        bool is_common = option->letter && strchr("nNc", option->letter);

        /* other programs have these letters, too, so only with a number */
        return is_common && option->value && isdigit((unsigned char)*option->value);
    }
    return berth_argument_find_ours(option->name, prefix) ||
           berth_text_starts_any(option->name, names);
}

/* Does a component begin with FIRST, its first option, and the arguments from REST to
 * END? Only if FIRST is one of srun and a command follows. */
static bool begins_component(const char *first, char *const *rest, char *const *end,
                             const char *prefix)
{
    BERTH_STRVEC struct berth_strvec argv = {0};
    struct berth_arguments arguments;
    struct berth_argument argument;

    berth_strvec_push(&argv, "srun");
    berth_strvec_push(&argv, first);
    for (; rest < end; rest++)
        berth_strvec_push(&argv, *rest);
    if (argv.failed)
        return false;

    arguments = berth_arguments_begin(argv.items, prefix);
    if (!berth_arguments_next(&arguments, &argument) ||
        !begins_often(&argument, prefix))
        return false;
    while (berth_arguments_next(&arguments, &argument))
        if (argument.command) /* none begins with a digit */
            return !isdigit((unsigned char)**argument.command);
    return false;
}

static void say_colon(const char *with_colon, const char *left, size_t left_length,
                      const char *right, struct berth_err *ret)
{
    berth_err_set(ret,
                  "the colon in '%s' does not begin a component; write blanks around "
                  "it: %.*s : %s",
                  with_colon, (int)left_length, left, right);
}

bool berth_mistake_colon(const struct berth_typed *typed, struct berth_err *ret)
{
    size_t last;
    size_t first = berth_hetgroups_command(typed->line, typed->optind, &last);
    char *const *command = typed->line->argv.items + first;
    char *const *end = typed->line->argv.items + last;

    if (!has_our_option(typed))
        return false;
    for (char *const *at = command; at < end; at++) {
        const char *text = *at;
        size_t length = strlen(text);
        bool is_before = at > command && text[0] == ':';
        bool is_after = at + 1 < end && length > 1 && text[length - 1] == ':';

        if (is_before && begins_component(text + 1, at + 1, end, typed->prefix)) {
            say_colon(text, *command, strlen(*command), text + 1, ret);
            return true;
        }
        if (is_after && begins_component(at[1], at + 2, end, typed->prefix)) {
            say_colon(text, text, length - 1, at[1], ret);
            return true;
        }
    }
    return false;
}
