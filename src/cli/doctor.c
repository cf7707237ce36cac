/* SPDX-License-Identifier: Apache-2.0 */
/* berth doctor: is this host fit for berth, and what would make it so? */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/color.h"
#include "cli/cli.h"
#include "cli/diagnoses.h"
#include "cli/output.h"

extern char **environ;

static void print_diagnosis(const struct berth_diagnosis *diagnosis, bool has_color)
{
    static const enum berth_color colors[] = {
        [BERTH_DIAGNOSIS_OK] = BERTH_COLOR_GOOD,
        [BERTH_DIAGNOSIS_NOTE] = BERTH_COLOR_NOTE,
        [BERTH_DIAGNOSIS_WRONG] = BERTH_COLOR_WRONG,
    };
    const char *begin = berth_color_begin(has_color, colors[diagnosis->level]);
    const char *end = berth_color_end(has_color);

    printf("%s%-5s%s %s: %s\n", begin, berth_diagnosis_word(diagnosis->level), end,
           diagnosis->about, diagnosis->text);
    if (diagnosis->remedy)
        printf("      remedy: %s\n", diagnosis->remedy);
}

/* Print the diagnoses of LEVEL, in the order in which they were made. */
static void print_level(const struct berth_doctor *doctor,
                        enum berth_diagnosis_level level, bool has_color)
{
    for (size_t i = 0; i < doctor->count; i++)
        if (doctor->items[i].level == level)
            print_diagnosis(&doctor->items[i], has_color);
}

/* Print all, what is wrong first. */
static int print_text(const struct berth_doctor *doctor, bool has_color)
{
    BERTH_BUF struct berth_buf sum = {0};

    berth_doctor_sum(doctor, &sum);
    if (sum.failed)
        return berth_cli_fail_oom();
    print_level(doctor, BERTH_DIAGNOSIS_WRONG, has_color);
    print_level(doctor, BERTH_DIAGNOSIS_NOTE, has_color);
    print_level(doctor, BERTH_DIAGNOSIS_OK, has_color);
    printf("%s\n", sum.text);
    return EXIT_SUCCESS;
}

static int print_json(const struct berth_doctor *doctor)
{
    BERTH_BUF struct berth_buf text = {0};

    berth_doctor_json(doctor, &text);
    if (text.failed)
        return berth_cli_fail_oom();
    printf("%s\n", text.text);
    return EXIT_SUCCESS;
}

int berth_cli_doctor(int argc, char **argv)
{
    BERTH_DOCTOR struct berth_doctor doctor = {.host = {.root = "", .env = environ},
                                               .release = BERTH_VERSION};
    struct berth_output output = berth_output_usual();
    struct berth_err err;
    int result;

    for (int i = 1; i < argc; i++) {
        bool is_taken;

        if (berth_output_take(argv[i], &output, &is_taken, &err) < 0)
            return berth_cli_misused(&err);
        if (!is_taken)
            return BERTH_CLI_USAGE;
    }

    if (berth_doctor_examine(&doctor, &err) < 0)
        return berth_cli_fail(&err);
    if (output.is_json)
        result = print_json(&doctor);
    else
        result = print_text(&doctor, output.has_color);
    if (berth_doctor_count(&doctor, BERTH_DIAGNOSIS_WRONG) > 0)
        result = BERTH_CLI_FAILED;
    return result;
}
