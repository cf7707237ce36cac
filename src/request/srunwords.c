/* SPDX-License-Identifier: Apache-2.0 */
/* Separates the options of srun from commands, by a list of options without a value. */

#include "request/srunwords.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "request/option.h"

/* The letters whose value may be the next word; srun's W is another. */
#define LETTERS "ABCDFGJLMNSTabcdeimnopqrtwx"

/* The letters with an optional value, which is the rest of the word. */
#define OPTIONAL_LETTERS "IKk"

/* The long options of all releases whose value is never the next word. */
static const char alone[] =
    "async|bcast|bell|compress|consolidate-segments|contiguous|debugger-test|"
    "disable-status|exact|exclusive|external|external-launcher|get-user-env|help|"
    "hold|ignore-pbs|immediate|interactive|kill-command|kill-on-bad-exit|label|"
    "multi-prog|nice|no-allocate|no-bell|no-kill|no-requeue|no-shell|"
    "oom-kill-step|overcommit|overlap|oversubscribe|parsable|preserve-env|"
    "preserve-slurm-env|propagate|pty|quiet|quit-on-interrupt|reboot|requeue|"
    "resv-ports|send-libs|share|spread-job|spread-segments|stepmgr|test-only|"
    "unbuffered|usage|use-min-nodes|verbose|version|wait-for-children|whole|x11";

/* Is NAME one of `alone`, or the beginning of one? --wait is an option with a value.
 * Slurm itself refuses the beginning of two options. */
static bool begins_alone(const char *name)
{
    size_t length = strlen(name);
    size_t end;

    if (strcmp(name, "wait") == 0)
        return false;
    for (const char *it = alone; *it; it += end + (it[end] == '|')) {
        end = strcspn(it, "|");
        if (length <= end && strncmp(it, name, length) == 0)
            return true;
    }
    return false;
}

/* May the value of the long option NAME be the next word? Yes for an unknown option. */
static bool takes_next(const char *name)
{
    if (strchr(name, '=') || begins_alone(name))
        return false;
    for (int i = 0; i < BERTH_OPTIONS_ALL; i++)
        if ((!berth_options[i].argument ||
             berth_option_is_optional(&berth_options[i])) &&
            berth_text_ends(name, berth_options[i].name)) /* after the site's prefix */
            return false;
    return true;
}

/* Moves AT, at a command, to the options of the next component or to the end. Only srun
 * has more than one component. */
static char *const *pass_command(char *const *at, bool is_srun)
{
    while (*at && !(is_srun && strcmp(*at, ":") == 0))
        at++;
    return *at ? at + 1 : at;
}

/* Reads the long option WORD. Its value is after an equals sign, or the next word at
 * *AT. */
static void read_long(const char *word, bool takes, char *const **at,
                      struct berth_srunword *ret)
{
    const char *equals = strchr(word, '=');

    ret->name = word;
    if (equals)
        ret->value = equals + 1;
    else if (takes && takes_next(word + 2) && **at)
        ret->value = *(ret->word = (*at)++);
}

/* Reads WORD, short options like -lN. The value is the rest of WORD, or the next word
 * at *AT. */
static void read_letters(const char *word, const char *letters, char *const **at,
                         struct berth_srunword *ret)
{
    size_t end = 1;

    while (word[end + 1] && !strchr(letters, word[end]) &&
           !strchr(OPTIONAL_LETTERS, word[end]))
        end++;
    ret->letter = word[end];
    if (word[end + 1])
        ret->value = word + end + 1;
    else if (strchr(letters, word[end]) && **at)
        ret->value = *(ret->word = (*at)++);
}

bool berth_srunwords_next(const char *command, char *const **at,
                          struct berth_srunword *ret)
{
    /* --wait, -W: only srun's has a value */
    bool batch = strcmp(command, "sbatch") == 0;
    const char *word;

    while (**at && strcmp(**at, ":") == 0) /* a component without a command */
        ++*at;
    word = **at;
    *ret = (struct berth_srunword){.word = *at};
    if (!word)
        return false;
    ++*at;
    if (word[0] != '-' || !word[1] || strcmp(word, "--") == 0) {
        ret->word += strcmp(word, "--") == 0;
        *at = pass_command(*at - 1, strcmp(command, "srun") == 0);
    } else if (word[1] == '-')
        read_long(word, !batch || strcmp(word, "--wait") != 0, at, ret);
    else
        read_letters(word, batch ? LETTERS : LETTERS "W", at, ret);
    return true;
}

bool berth_srunwords_named(const struct berth_srunword *option, const char *name)
{
    size_t length = option->name ? strcspn(option->name, "=") : 0;
    size_t rest = strlen(name);

    return length >= rest && strncmp(option->name + length - rest, name, rest) == 0;
}
