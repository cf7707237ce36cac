/* SPDX-License-Identifier: Apache-2.0 */
/* berth run: a command in an image, as a task of srun runs, without Slurm. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/fetch.h"
#include "cli/request.h"
#include "policy/policy.h"
#include "probe/settle.h"
#include "diagnose/sitefind.h"
#include "launch/standalone.h"

extern char **environ;

/* As a shell ends. */
enum { CANNOT_EXECUTE = 126, NOT_FOUND = 127 };

/* --container-image=none. */
static int run_on_host(char **command)
{
    struct berth_err err;
    int number;

    execvp(command[0], command);
    number = errno;
    berth_err_set(&err, "run: command '%s': %s; check the name, or give its path",
                  command[0], strerror(number));
    berth_cli_fail(&err);
    return number == ENOENT ? NOT_FOUND : CANNOT_EXECUTE;
}

int berth_cli_run_in_image(struct berth_request *request, char **command,
                           struct berth_err *err)
{
    BERTH_SITE struct berth_site site = {0};
    BERTH_REQUEST struct berth_request settled = {0};
    BERTH_TERMS struct berth_terms terms = {0};
    const struct berth_settling settling = {
        .partition = getenv("SLURM_JOB_PARTITION"),
        .account = getenv("SLURM_JOB_ACCOUNT"),
        .environment = environ,
    };
    const struct berth_standalone standalone = {
        .site = &site, .asked = request, .request = &settled, .terms = &terms};

    if (berth_site_read_here(environ, &site, err) < 0 ||
        berth_policy_refuse(&site, request, environ, err) < 0 ||
        berth_cli_fetch(request, &site, err) < 0 ||
        berth_settle(&site, &settling, request, &settled, &terms, err) < 0 ||
        berth_standalone_prepare(&standalone, err) < 0)
        return -1;
    return berth_standalone_become(command, err);
}

int berth_cli_run(int argc, char **argv)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_err err;
    char **command;
    int result = berth_cli_request(argc, argv, NULL, NULL, &request, &command);

    if (result != EXIT_SUCCESS)
        return result;
    if (!berth_request_contained(&request))
        return run_on_host(command);
    berth_cli_run_in_image(&request, command, &err);
    return berth_cli_fail(&err);
}
