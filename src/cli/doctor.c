/* SPDX-License-Identifier: Apache-2.0 */
/* berth doctor: is this host fit for berth, and what would make it so? */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diagnoses.h"
#include "cli/cli.h"

extern char **environ;

static void print(const struct berth_doctor *doctor)
{
    for (size_t i = 0; i < doctor->count; i++) {
        const struct berth_diagnosis *diagnosis = &doctor->items[i];

        printf("%-5s %s: %s\n", berth_diagnosis_word(diagnosis->level),
               diagnosis->about, diagnosis->text);
        if (diagnosis->remedy)
            printf("      remedy: %s\n", diagnosis->remedy);
    }
}

int berth_cli_doctor(int argc, char **argv)
{
    BERTH_DOCTOR struct berth_doctor doctor = {.host = {.root = "", .env = environ},
                                               .release = BERTH_VERSION};
    bool is_json = argc == 2 && strcmp(argv[1], "--json") == 0;
    BERTH_BUF struct berth_buf text = {0};
    struct berth_err err;

    if (argc != 1 + is_json)
        return BERTH_CLI_USAGE;
    if (berth_doctor_examine(&doctor, &err) < 0)
        return berth_cli_fail(&err);
    (is_json ? berth_doctor_json : berth_doctor_sum)(&doctor, &text);
    if (text.failed)
        return berth_cli_fail_oom();
    if (!is_json)
        print(&doctor);
    printf("%s\n", text.text);
    return berth_doctor_count(&doctor, BERTH_DIAGNOSIS_WRONG) ? BERTH_CLI_FAILED
                                                              : EXIT_SUCCESS;
}
