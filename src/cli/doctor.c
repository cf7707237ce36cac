/* SPDX-License-Identifier: Apache-2.0 */
/* berth doctor: is this host fit for berth, and what would make it so? */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/host.h"

extern char **environ;

/* Colours are for a terminal, and not if NO_COLOR is set (no-color.org). */
static bool has_colours(void)
{
    const char *no = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    return isatty(STDOUT_FILENO) && !(no && *no) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

static void print(const struct berth_diagnoses *diagnoses)
{
    static const char *const colours[] = {"\033[32m", "\033[33m", "\033[1;31m"};
    bool coloured = has_colours();

    for (size_t i = 0; i < diagnoses->count; i++) {
        const struct berth_diagnosis *diagnosis = &diagnoses->items[i];

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
    struct berth_doctor_facts facts;
    struct berth_diagnoses diagnoses = {0};
    BERTH_BUF struct berth_buf line = {0};
    struct berth_err err;
    size_t wrong;

    if (berth_host_read("", environ, BERTH_VERSION, &facts, &err) < 0)
        return berth_cli_fail(&err);
    berth_doctor_judge(&facts, &diagnoses);
    if (form == BRIEF)
        berth_doctor_brief(&facts, &diagnoses, &line);
    else if (form == JSON)
        berth_doctor_json(&facts, &diagnoses, &line);
    else
        berth_diagnoses_sum(&diagnoses, &line);
    wrong = berth_diagnoses_wrong(&diagnoses);
    if (diagnoses.failed || line.failed)
        return berth_cli_fail_oom();
    if (form == TEXT)
        print(&diagnoses);
    printf("%s\n", line.text);
    berth_diagnoses_fini(&diagnoses);
    berth_doctor_facts_fini(&facts);
    return wrong ? BERTH_CLI_FAILED : EXIT_SUCCESS;
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
