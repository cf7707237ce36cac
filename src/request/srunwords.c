/* SPDX-License-Identifier: Apache-2.0 */
/* Where the options of srun end, and where those of the next component begin. */

#include "request/srunwords.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "request/option.h"
#include "request/pyxis.h"

/* The letters whose value may be the next word. */
#define LETTERS "ABCDGJLMNSTWbcdeimnopqrtwx"

/* Those whose value, if there is one, is the rest of their word. */
#define OPTIONAL_LETTERS "IKk"

/* The long options of srun, of every release, that never take the next word. */
static const char *const alone[] = {"async",
                                    "bcast",
                                    "bell",
                                    "compress",
                                    "consolidate-segments",
                                    "contiguous",
                                    "debugger-test",
                                    "disable-status",
                                    "exact",
                                    "exclusive",
                                    "external",
                                    "external-launcher",
                                    "help",
                                    "hold",
                                    "immediate",
                                    "interactive",
                                    "kill-on-bad-exit",
                                    "label",
                                    "multi-prog",
                                    "nice",
                                    "no-allocate",
                                    "no-bell",
                                    "no-kill",
                                    "oom-kill-step",
                                    "overcommit",
                                    "overlap",
                                    "oversubscribe",
                                    "preserve-env",
                                    "preserve-slurm-env",
                                    "propagate",
                                    "pty",
                                    "quiet",
                                    "quit-on-interrupt",
                                    "reboot",
                                    "resv-ports",
                                    "send-libs",
                                    "share",
                                    "spread-job",
                                    "spread-segments",
                                    "stepmgr",
                                    "test-only",
                                    "unbuffered",
                                    "usage",
                                    "use-min-nodes",
                                    "verbose",
                                    "version",
                                    "wait-for-children",
                                    "whole",
                                    "x11",
                                    NULL};

/* Is OPTION, with the site's prefix or without, the one called NAME, whose ARGUMENT is
 * as in struct berth_option; and does it take no further word? */
static bool is_alone(const char *option, const char *name, const char *argument)
{
    return (!argument || *argument == '[') && berth_text_ends(option, name);
}

/* May the value of a long OPTION be the next word? Where nobody knows it: yes. */
static bool takes_next(const char *option)
{
    if (strchr(option, '=') || berth_text_is_any(option + 2, alone))
        return false;
    for (int id = 0; id < BERTH_OPTION_COUNT; id++)
        if (is_alone(option, berth_options[id].name, berth_options[id].argument))
            return false;
    for (int i = 0; i < BERTH_PYXIS_COUNT; i++)
        if (is_alone(option, berth_pyxis_options[i].name,
                     berth_pyxis_options[i].argument))
            return false;
    return true;
}

/* May the value of a word of letters, -lN, be the next word? */
static bool letters_take_next(const char *word)
{
    size_t end = 1 + strcspn(word + 1, LETTERS OPTIONAL_LETTERS);

    return word[end] && strchr(LETTERS, word[end]) && !word[end + 1];
}

/* Move AT, at a command, to the options of the next component or to the end. */
static char *const *pass_command(char *const *at)
{
    while (*at && strcmp(*at, ":") != 0)
        at++;
    return *at ? at + 1 : at;
}

const char *berth_srunwords_next(char *const **at)
{
    while (**at) {
        const char *word = *(*at)++;
        bool is_long = berth_text_starts(word, "--") && word[2];

        if (word[0] != '-' || !word[1] || strcmp(word, "--") == 0)
            *at = pass_command(*at - 1);
        else if ((is_long ? takes_next(word) : letters_take_next(word)) && **at)
            ++*at;
        if (is_long)
            return word;
    }
    return NULL;
}

bool berth_srunwords_named(const char *option, const char *name)
{
    size_t length = strcspn(option, "="), rest = strlen(name);

    return length >= rest && strncmp(option + length - rest, name, rest) == 0;
}
