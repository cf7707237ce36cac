/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an image's runscript for what it does before the command. */

#include "container/runscript.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/text.h"

/* Bytes that are read: where it hands over its arguments is near the beginning. */
enum { HEAD = 64 << 10 };

/* The line of a runscript that a runtime makes from an OCI image
 * (conveyorPacker_oci.go of Apptainer), whose other lines are the same for all. */
#define OCI_ENTRYPOINT "OCI_ENTRYPOINT="

/* What the runtimes write where a recipe has no runscript: it prints this, and ends
 * with status 0. */
#define NO_RUNSCRIPT "echo \"There is no runscript defined for this container"

static bool passes_arguments(const char *line)
{
    return strstr(line, "$@") || strstr(line, "$*");
}

/* Does LINE of a shell script do something? */
static bool is_command(const char *line)
{
    line += strspn(line, " \t");
    return *line && *line != '#';
}

bool berth_runscript_prepares(const char *path)
{
    BERTH_BUF struct berth_buf text = {0};
    unsigned int commands = 0;
    bool hands_over = false;
    char *rest;
    char *line;

    if (berth_fd_read_path(path, HEAD, &text) < 0 || text.failed || !text.used)
        return false;
    for (line = strtok_r(text.text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (berth_text_starts(line, OCI_ENTRYPOINT))
            return !berth_text_is_any(line + strlen(OCI_ENTRYPOINT),
                                      (const char *const[]){"", "''", "\"\"", NULL});
        if (is_command(line))
            commands++;
        if (strstr(line, "exec ") && passes_arguments(line))
            hands_over = true;
    }
    return hands_over && commands > 1;
}

bool berth_runscript_exists(const char *path)
{
    BERTH_BUF struct berth_buf text = {0};

    if (access(path, F_OK) < 0)
        return false;
    /* One that cannot be read can perhaps be executed. */
    return berth_fd_read_path(path, HEAD, &text) < 0 || !text.text ||
           !strstr(text.text, NO_RUNSCRIPT);
}

char *berth_runscript_directory(const char *path)
{
    /* docker::configure in enroot's src/docker.sh: `cd "/dir" && unset OLDPWD || exit
     * 1`, and before its release 3.5 `cd "/dir" || exit 1` */
    static const char changes[] = "cd \"";
    static const char *const ends[] = {"\" && unset OLDPWD || exit 1", "\" || exit 1"};
    BERTH_BUF struct berth_buf text = {0};
    char *rest;

    if (berth_fd_read_path(path, HEAD, &text) < 0 || text.failed || !text.used)
        return NULL;
    for (char *line = strtok_r(text.text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (!berth_text_starts(line, changes))
            continue;
        for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
            const size_t begin = strlen(changes);

            if (line[begin] == '/' && berth_text_ends(line, ends[i]))
                return strndup(line + begin, strlen(line) - begin - strlen(ends[i]));
        }
    }
    return NULL;
}
