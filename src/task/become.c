/* SPDX-License-Identifier: Apache-2.0 */
/* Becoming the user's command, and saying in one line why not. */

#include "task/become.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int berth_become_enter(const struct berth_become *become, struct berth_err *err)
{
    if (become->workdir && chdir(become->workdir) < 0)
        return berth_err_set(
            err,
            "--container-workdir: '%s': %s; expected a directory of the "
            "image or of a mount",
            become->workdir, strerror(errno));
    if (!become->workdir && become->stay && chdir(become->stay) < 0)
        return berth_err_set(
            err,
            "the working directory '%s' is not in the image: %s; mount "
            "it (--container-mounts=%s) or name another "
            "(--container-workdir=DIR)",
            become->stay, strerror(errno), become->stay);
    return 0;
}

static void explain(const char *name, int number, struct berth_err *err)
{
    const char *path = getenv("PATH");

    if (number == ENOENT && strchr(name, '/') && access(name, F_OK) == 0)
        berth_err_set(
            err,
            "command '%s' is there, but not the interpreter that it names (#! "
            "line, or the loader of another C library); mount or install it",
            name);
    else if (number == ENOENT && strchr(name, '/'))
        berth_err_set(err,
                      "command '%s' is not in the image; check the path, or mount it "
                      "(--container-mounts)",
                      name);
    else if (number == ENOENT)
        berth_err_set(
            err,
            "command '%s' is not on the image's PATH (%s); check the name, or "
            "give its path",
            name, path ? path : "not set");
    else
        berth_err_set(err,
                      "command '%s' cannot be executed: %s; name a program, or make "
                      "this one executable (chmod +x)",
                      name, strerror(number));
}

int berth_become_command(const struct berth_become *become, struct berth_err *err)
{
    int number;

    execvp(become->command[0], become->command);
    number = errno;
    explain(become->command[0], number, err);
    return number == ENOENT ? BERTH_NOT_FOUND : BERTH_NOT_EXECUTABLE;
}
