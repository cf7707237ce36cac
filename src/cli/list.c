/* SPDX-License-Identifier: Apache-2.0 */
/* berth --list: prints what the completion of shells (share/) reads, lines of VERB,
 * OPTION, VALUES and HELP with tabs between. */

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/choice.h"
#include "base/text.h"
#include "cli/cli.h"
#include "request/option.h"
#include "request/uri.h"

static void print_choices(const char *argument)
{
    BERTH_STRVEC struct berth_strvec words = {0};

    berth_choice_split(argument, &words);
    for (size_t i = 0; i < words.count; i++)
        printf("%s%s", i ? " " : "", words.items[i]);
}

/* Print the VALUES of an option: FILE if a value may be the name of a file, and words
 * with which a value may begin; - if neither is known. */
static void print_values(const char *argument)
{
    static const char *const paths[] = {"PATH", "SRC", "DIR", NULL};

    if (argument && strchr(argument, '|') &&
        islower((unsigned char)argument[strspn(argument, "[")]))
        print_choices(argument);
    else
        printf(argument && berth_text_starts_any(argument, paths) ? "FILE" : "-");
    for (const char *const *scheme = berth_uri_schemes;
         argument && strstr(argument, "URI") && *scheme; scheme++)
        printf(" %s://", *scheme);
}

/* Print the options of the verb itself, which are in its usage. */
static void list_own(const char *verb, const char *usage, const char *help)
{
    for (const char *at = usage; (at = strstr(at, "--")); at += 2) {
        int length = (int)strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");

        if (length > 0)
            printf("%s\t--%.*s\t-\t%s\n", verb, length, at + 2, help);
    }
}

void berth_cli_list(const char *verb, const char *usage, const char *help)
{
    if (help)
        printf("%s\t-\t-\t%s\n", verb, help);
    list_own(verb, usage, help);
    for (int i = 0; strstr(usage, "OPTION") && i < BERTH_OPTION_COUNT; i++) {
        const struct berth_option *option = &berth_options[i];
        bool needs = option->argument && !berth_option_is_optional(option);

        printf("%s\t--%s%s\t", verb, option->name, needs ? "=" : "");
        print_values(option->argument);
        printf("\t%s\n", option->help);
    }
}
