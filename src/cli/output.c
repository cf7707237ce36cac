/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the options that say how a verb prints, which are the same for all verbs. */

#include "cli/output.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/color.h"
#include "base/text.h"

#define COLOR "--color"

struct berth_output berth_output_usual(void)
{
    struct berth_output output = {.is_json = false};

    berth_color_read(NULL, STDOUT_FILENO, &output.has_color, NULL);
    return output;
}

int berth_output_take(const char *argument, struct berth_output *output,
                      bool *ret_is_taken, struct berth_err *err)
{
    *ret_is_taken = true;
    if (strcmp(argument, "--json") == 0) {
        output->is_json = true;
        return 0;
    }
    if (strcmp(argument, COLOR) == 0)
        return berth_color_read("always", STDOUT_FILENO, &output->has_color, err);
    if (berth_text_starts(argument, COLOR "="))
        return berth_color_read(argument + strlen(COLOR "="), STDOUT_FILENO,
                                &output->has_color, err);
    *ret_is_taken = false;
    return 0;
}
