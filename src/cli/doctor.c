/* SPDX-License-Identifier: Apache-2.0 */
/* berth doctor: is this host fit for berth, and what would make it so? */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/checks.h"
#include "cli/cli.h"

extern char **environ;

/* Colours are for a terminal, and not if NO_COLOR is set (no-color.org). */
static bool has_colours(void)
{
    const char *no = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    return isatty(STDOUT_FILENO) && !(no && *no) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

static void print(const struct berth_doctor *doctor)
{
    static const char *const colours[] = {"\033[32m", "\033[33m", "\033[1;31m"};
    bool coloured = has_colours();

    for (size_t i = 0; i < doctor->count; i++) {
        const struct berth_diagnosis *diagnosis = &doctor->items[i];

        printf("%s%-5s%s %s: %s\n", coloured ? colours[diagnosis->level] : "",
               berth_diagnosis_word(diagnosis->level), coloured ? "\033[0m" : "",
               diagnosis->about, diagnosis->text);
        if (diagnosis->remedy)
            printf("      remedy: %s\n", diagnosis->remedy);
    }
}

/* How to show what was found. */
enum form { TEXT, BRIEF, JSON };

static int diagnose(enum form form)
{
    BERTH_DOCTOR struct berth_doctor doctor = {.host = {.root = "", .env = environ},
                                               .release = BERTH_VERSION};
    BERTH_BUF struct berth_buf line = {0};
    struct berth_err err;

    if (berth_doctor_examine(&doctor, &err) < 0)
        return berth_cli_fail(&err);
    if (form == BRIEF)
        berth_doctor_brief(&doctor, &line);
    else if (form == JSON)
        berth_doctor_json(&doctor, &line);
    else
        berth_doctor_sum(&doctor, &line);
    if (line.failed)
        return berth_cli_fail_oom();
    if (form == TEXT)
        print(&doctor);
    printf("%s\n", line.text);
    return berth_doctor_count(&doctor, BERTH_DIAGNOSIS_WRONG) ? BERTH_CLI_FAILED
                                                              : EXIT_SUCCESS;
}

int berth_cli_doctor(int argc, char **argv)
{
    if (argc == 1)
        return diagnose(TEXT);
    if (argc == 2 && strcmp(argv[1], "--brief") == 0)
        return diagnose(BRIEF);
    if (argc == 2 && strcmp(argv[1], "--json") == 0)
        return diagnose(JSON);
    return BERTH_CLI_USAGE;
}
