/* SPDX-License-Identifier: Apache-2.0 */
/* Finds in srun's options whether standard output and error of the tasks are one file.
 */

#include "request/streams.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

/* Is VALUE of -o or -e a file, and not srun's own standard output or error? As
 * fname_create() in srun's fname.c has it. A number is a task or, if there is no such
 * task, a file; that is not known yet, so it counts as a file. */
static bool is_file(const char *value)
{
    if (!berth_text_given(value) || *value == '-')
        return false;
    return strncasecmp(value, "all", strlen("all")) != 0;
}

const char *berth_streams_file(const struct berth_hetgroups *line, int optind,
                               const char *output, const char *error)
{
    if (line->argv.count == 0)
        return NULL;
    berth_hetgroups_find_option(line, optind, "output", &output);
    berth_hetgroups_find_option(line, optind, "error", &error);

    if (!is_file(output) || (error && strcmp(output, error) != 0))
        return NULL;
    return output;
}
