/* SPDX-License-Identifier: Apache-2.0 */
/* Where the container runtime of this host is. */

#include "probe/runtime.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define USUAL_DIRECTORIES "/usr/local/bin:/usr/bin:/bin:/opt/apptainer/bin"

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The first DIRECTORY/NAME that is a program; only absolute directories count. */
static char *search(const char *directories, const char *name)
{
    BERTH_FREE char *copy = strdup(directories);
    char *next = copy;
    char *directory;

    while (copy && (directory = strsep(&next, ":"))) {
        BERTH_FREE char *path = NULL;

        if (*directory != '/')
            continue;
        if (asprintf(&path, "%s/%s", directory, name) < 0)
            return NULL;
        if (is_program(path))
            return berth_steal(&path);
    }
    return NULL;
}

int berth_runtime_find(const char *configured, const char *path, char **ret_path,
                       struct berth_err *err)
{
    static const char *const names[] = {"apptainer", "singularity"};

    if (configured) {
        if (!is_program(configured))
            return berth_err_set(
                err,
                "container runtime '%s': %s; ask the administrators to "
                "install it or to correct runtime= in plugstack.conf",
                configured,
                access(configured, F_OK) < 0 ? strerror(errno) : "not a program");
        *ret_path = strdup(configured);
        return *ret_path ? 0 : berth_err_oom(err);
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        *ret_path = path ? search(path, names[i]) : NULL;
        if (!*ret_path)
            *ret_path = search(USUAL_DIRECTORIES, names[i]);
        if (*ret_path)
            return 0;
    }
    return berth_err_set(err, "container runtime: neither apptainer nor singularity is "
                              "installed here; ask the administrators to install one");
}
