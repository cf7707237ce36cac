/* SPDX-License-Identifier: Apache-2.0 */
/* Compares files that a program in a container sees with those of the host. */

#include "inside/hostfiles.h"

#include <libgen.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/text.h"
#include "request/arguments.h"

/* Variables that srun takes for these options. */
static const char *const variables[] = {"SLURM_STDERRMODE", "SLURM_STDINMODE",
                                        "SLURM_STDOUTMODE", "SRUN_ERROR",
                                        "SRUN_INPUT",       "SRUN_OUTPUT"};

/* Is VALUE a stream of the command? Those are the program's. */
static bool is_stream(const char *value)
{
    static const char *const streams[] = {"/dev/fd/", "/dev/null", "/dev/std",
                                          "/proc/self/fd/", NULL};

    return berth_text_starts_any(value, streams);
}

/* Does VALUE say which task has the stream (srun(1))? */
static bool is_task(const char *value)
{
    bool is_number = value[strspn(value, "0123456789")] == '\0';

    if (*value == '-' || is_number)
        return true;
    return strcasecmp(value, "none") == 0 || strncasecmp(value, "all", 3) == 0;
}

/* Cut PATH to its directory, which may be `.`. Returns false if PATH has none. */
static bool cut(char *path)
{
    const char *parent;

    if (strcmp(path, ".") == 0 || path[strspn(path, "/")] == '\0')
        return false;
    parent = dirname(path);
    memmove(path, parent, strlen(parent) + 1);
    return true;
}

/* Is PATH the same for the program and for the host? What does not exist counts as its
 * directory, where srun may make it. */
static bool is_shared(const struct berth_hostfiles *files, char *path)
{
    struct stat there, here;

    while (files->look(files->program, path, &there) < 0)
        if (!cut(path))
            return false;
    if (stat(path, &here) < 0)
        return false;
    return there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

/* The same of VALUE. Of a name with a %, which srun completes, the directory counts. */
static bool is_value_shared(const struct berth_hostfiles *files, const char *value)
{
    BERTH_FREE char *path = strdup(value);
    char *percent;

    if (!path)
        return false;
    percent = strchr(path, '%');
    if (percent) {
        percent[1] = '\0'; /* what srun puts there may have a slash */
        cut(path);
    }
    return is_shared(files, path);
}

/* Returns a directory of ENVIRONMENT that the program and the host share, or NULL. */
static const char *find_shared(const struct berth_hostfiles *files,
                               char *const *environment)
{
    static const char *const names[] = {"PWD", "HOME", "TMPDIR"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = berth_environ_value(environment, names[i]);

        if (value && is_value_shared(files, value))
            return value;
    }
    return NULL;
}

/* Refuse PATH, and name a directory that both have. */
static int refuse(const struct berth_hostfiles *files, const char *option,
                  const char *path, char *const *environment, struct berth_err *err)
{
    const char *place = find_shared(files, environment);

    if (!place)
        place = "one of --container-mounts";
    return berth_err_set(err,
                         "%s: '%s': the container and the host do not share this path; "
                         "use a directory that both have, such as %s",
                         option, path, place);
}

/* A variable that the task has with the same value is the host's. */
static int check_variables(const struct berth_hostfiles *files,
                           char *const *environment, struct berth_err *err)
{
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *path = berth_environ_value(environment, variables[i]);
        const char *host = berth_environ_value(files->task, variables[i]);

        if (!path || is_task(path) || is_stream(path))
            continue;
        if (host && strcmp(path, host) == 0)
            continue;
        if (!is_value_shared(files, path))
            return refuse(files, variables[i], path, environment, err);
    }
    return 0;
}

/* The file that OPTION names, and in messages the NAME of the option; NULL: OPTION is
 * another one, or says which task has the stream. */
static const char *find_file(const struct berth_argument *option, const char **ret_name)
{
    static const char *const names[] = {"--error", "--input", "--output"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!berth_argument_is(option, names[i] + strlen("--")))
            continue;
        *ret_name = names[i];
        if (option->value && is_task(option->value))
            return NULL;
        return option->value;
    }
    return NULL;
}

int berth_hostfiles_check(const struct berth_hostfiles *files, char *const *command,
                          char *const *environment, struct berth_err *err)
{
    struct berth_arguments arguments = berth_arguments_begin(command, NULL);
    struct berth_argument argument;
    bool is_multiprog = false;

    if (strcmp(*command, "srun") != 0)
        return 0;
    while (berth_arguments_next(&arguments, &argument)) {
        const char *option = NULL;
        const char *path = find_file(&argument, &option);

        if (berth_argument_is(&argument, "multi-prog"))
            is_multiprog = true;
        if (argument.command && is_multiprog) { /* the file is where the command is */
            option = "--multi-prog";
            path = *argument.command;
        }
        if (argument.command)
            is_multiprog = false;

        if (path && !is_stream(path) && !is_value_shared(files, path))
            return refuse(files, option, path, environment, err);
    }
    return check_variables(files, environment, err);
}
