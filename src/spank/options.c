/* SPDX-License-Identifier: Apache-2.0 */
/* Registers the table of options with Slurm. */

#include "spank/options.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>

/* Bytes of an option name with its prefix; Slurm's --help cuts a longer one. */
enum { NAME_SIZE = 128 };

static bool asks_for_help(const struct berth_hetgroups *line)
{
    struct berth_arguments arguments = berth_hetgroups_all(line);
    struct berth_argument argument;

    while (berth_arguments_next(&arguments, &argument) && !argument.command)
        if (berth_argument_is(&argument, "help"))
            return true;
    return false;
}

/* Under a prefix the site may have pyxis itself. The help has what berth has. */
static int count_of(const char *prefix, const struct berth_hetgroups *line)
{
    if (*prefix || (line && asks_for_help(line)))
        return BERTH_OPTION_COUNT;
    return BERTH_OPTIONS_ALL;
}

int berth_options_register(spank_t sp, const char *prefix,
                           const struct berth_hetgroups *line, spank_opt_cb_f callback)
{
    /* Slurm copies the struct, not always its strings, and keeps it while the process
     * lives. */
    static char names[BERTH_OPTIONS_ALL][NAME_SIZE];

    for (int i = 0; i < count_of(prefix, line); i++) {
        struct spank_option option = {
            .name = names[i],
            .arginfo = (char *)berth_options[i].argument,
            .usage = (char *)berth_options[i].help,
            .has_arg = berth_option_has_arg(&berth_options[i]),
            .val = i,
            .cb = callback,
        };

        snprintf(names[i], NAME_SIZE, "%s%s", prefix, berth_options[i].name);
        if (spank_option_register(sp, &option) != ESPANK_SUCCESS)
            return -1;
    }
    return 0;
}

void berth_options_remove(spank_t sp, const char *prefix,
                          spank_err_t (*unset)(spank_t sp, const char *name))
{
    for (int i = 0; i < BERTH_OPTIONS_ALL; i++) {
        char name[256];

        /* _opt_env_name() in Slurm's spank.c, for the plugin `berth` */
        snprintf(name, sizeof(name), "_SLURM_SPANK_OPTION_berth_%s%s", prefix,
                 berth_options[i].name);
        for (char *c = name; *c; c++)
            if (!isalnum((unsigned char)*c))
                *c = '_';
        unset(sp, name);
    }
}
