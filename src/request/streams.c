/* SPDX-License-Identifier: Apache-2.0 */
/* Finds in srun's options whether standard output and error of the tasks are one file.
 */

#include "request/streams.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "request/srunwords.h"

/* Is OPTION -LETTER, or --NAME or a beginning of it with at least MINIMUM letters,
 * which getopt_long takes for --NAME? */
static bool is_option(const struct berth_srunword *option, char letter,
                      const char *name, size_t minimum)
{
    size_t length;

    if (!option->name)
        return option->letter == letter;
    length = strcspn(option->name + 2, "=");
    return length >= minimum && strncmp(option->name + 2, name, length) == 0 &&
           length <= strlen(name);
}

/* Is VALUE of -o or -e a file, and not srun's own standard output or error? As
 * fname_create() in srun's fname.c has it. A number is a task or, if there is no such
 * task, a file; that is not known yet, so it counts as a file. */
static bool is_file(const char *value)
{
    return value && *value && *value != '-' && strncasecmp(value, "all", 3) != 0;
}

const char *berth_streams_file(const struct berth_hetgroups *line, int optind,
                               const char *output, const char *error)
{
    char *const *words = line->words.items;
    char *const *at;
    char *const *end;
    size_t command, unused;
    struct berth_srunword option;

    if (line->words.count == 0)
        return NULL;
    command = berth_hetgroups_command(line, optind, &unused);
    at = words + line->spec + 1;
    end = words + command;
    while (at < end && berth_srunwords_next("srun", &at, &option)) {
        if (is_option(&option, 'o', "output", strlen("ou")))
            output = option.value;
        else if (is_option(&option, 'e', "error", strlen("er")))
            error = option.value;
    }
    if (!is_file(output) || (error && strcmp(output, error) != 0))
        return NULL;
    return output;
}
