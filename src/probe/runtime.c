/* SPDX-License-Identifier: Apache-2.0 */
/* Where the container runtime of this host is. */

#include "probe/runtime.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/run.h"

int berth_runtime_find(const char *configured, const char *path, char **ret_path,
                       struct berth_err *err)
{
    static const char *const names[] = {"apptainer", "singularity"};

    if (configured) {
        if (!berth_run_is_program(configured))
            return berth_err_set(
                err,
                "container runtime '%s': %s; ask the administrators to "
                "install it or to correct runtime.path in berth.yaml",
                configured,
                access(configured, F_OK) < 0 ? strerror(errno) : "not a program");
        *ret_path = strdup(configured);
        return *ret_path ? 0 : berth_err_oom(err);
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        *ret_path = berth_run_find(names[i], path);
        if (*ret_path)
            return 0;
    }
    return berth_err_set(err, "container runtime: neither apptainer nor singularity is "
                              "installed here; ask the administrators to install one");
}

char *berth_runtime_version(const char *path)
{
    enum { SECONDS = 20, MOST = 4096 };
    const char *const argv[] = {path, "--version", NULL};
    const char *const env[] = {"PATH=/usr/bin:/bin:/usr/sbin:/sbin", NULL};
    const struct berth_run run = {
        .argv = argv, .env = env, .seconds = SECONDS, .most = MOST};
    struct berth_ran ran;
    char *line = NULL;

    if (berth_run(&run, &ran, NULL) < 0)
        return NULL;
    if (ran.status == 0 && ran.out.text)
        line = strndup(ran.out.text, strcspn(ran.out.text, "\n"));
    berth_ran_fini(&ran);
    return line;
}
