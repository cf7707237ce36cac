/* SPDX-License-Identifier: Apache-2.0 */
/* Our option table in Slurm's form. */

#include "spank/options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "request/option.h"

/* Slurm's words for an option's value (has_arg of spank.h). */
static int has_argument(const struct berth_option *option)
{
    if (berth_option_is_optional(option))
        return 2;
    return option->argument ? 1 : 0;
}

/* The longest option name with its prefix; a longer one is cut by Slurm's --help
 * anyway. */
enum { NAME_SIZE = 128 };

static void name_of(const char *prefix, int option, char *name)
{
    snprintf(name, NAME_SIZE, "%s%s", prefix, berth_options[option].name);
}

int berth_options_register(spank_t sp, const char *prefix, spank_opt_cb_f callback)
{
    /* Slurm copies the struct, not always its strings, and keeps it while the process
     * lives. */
    static char names[BERTH_OPTION_COUNT][NAME_SIZE];

    for (int i = 0; i < BERTH_OPTION_COUNT; i++) {
        struct spank_option option = {
            .name = names[i],
            .arginfo = (char *)berth_options[i].argument,
            .usage = (char *)berth_options[i].help,
            .has_arg = has_argument(&berth_options[i]),
            .val = i,
            .cb = callback,
        };

        name_of(prefix, i, names[i]);
        if (spank_option_register(sp, &option) != ESPANK_SUCCESS)
            return -1;
    }
    return 0;
}

void berth_options_variable(const char *prefix, int option, char *name, size_t size)
{
    char plain[NAME_SIZE];

    name_of(prefix, option, plain);
    for (char *c = plain; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    snprintf(name, size, "_SLURM_SPANK_OPTION_berth_%s", plain);
}
