/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the image's own MPI where the containers of the tasks cannot be entered. */

#include "run/precheck.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environ.h"
#include "step/temporary.h"

struct check {
    const struct berth_precheck *precheck;
    const struct berth_launch *launch; /* of the container that is inspected */
    struct berth_injected injected;
    bool is_running; /* the container runs: a failure from here on is a refusal */
};

static int check_inside(void *data, struct berth_holder holder,
                        const struct berth_buf *variables, struct berth_err *err)
{
    struct check *check = data;
    struct berth_inject inject = {.holder = holder,
                                  .launch = check->launch,
                                  .environment = variables->text,
                                  .count = variables->used,
                                  .apart = check->precheck->apart,
                                  .deadline = check->precheck->deadline};

    check->is_running = true;
    return berth_inject(&inject, &check->injected, err);
}

/* Copy REQUEST, with a user namespace and with the image's own MPI. */
static int copy_request(const struct berth_request *request, struct berth_request *ret,
                        struct berth_err *err)
{
    if (berth_request_merge(ret, request, err) < 0 ||
        berth_request_put(ret, BERTH_OPTION_MPI, "hybrid", err) < 0 ||
        (ret->libs && berth_request_put(ret, BERTH_OPTION_LIBS, BERTH_NONE, err) < 0))
        return -1;
    return berth_request_put(ret, BERTH_OPTION_ARGS, "--userns", err);
}

/* Add a warning that the image's MPI was not checked, BECAUSE there was no container.
 */
static int add_warning(const struct berth_precheck *precheck,
                       const struct berth_err *because, struct berth_injected *injected,
                       struct berth_err *err)
{
    struct berth_err warning;

    berth_err_set(
        &warning,
        "the image's own MPI runs, unchecked: %s, and no container for a check: %s",
        precheck->why, because->text);
    injected->binding.warning = strdup(warning.text);
    return injected->binding.warning ? 0 : berth_err_oom(err);
}

/* Add a note about what --mpi-bind=auto and --container-libs=auto have chosen. Each
 * of several nodes prints it: another one may have no setuid runtime. */
static int add_note(const struct berth_precheck *precheck,
                    struct berth_binding *binding, struct berth_err *err)
{
    const struct berth_launch *launch = precheck->launch;
    const char *nodes =
        berth_environ_value(launch->environment, "SLURM_STEP_NUM_NODES");
    bool is_auto = berth_request_mpi_is(launch->request, BERTH_MODE_AUTO);
    bool has_libs = berth_request_has_libs(launch->request);
    struct berth_err text;

    if (binding->note || binding->warning || !(is_auto || has_libs))
        return 0;
    binding->differs = nodes && atoi(nodes) > 1;
    berth_err_set(&text,
                  has_libs
                      ? "the image's own MPI runs, on its own network libraries: %s"
                      : "the image's own MPI runs (hybrid): %s",
                  precheck->why);
    binding->note = strdup(text.text);
    return binding->note ? 0 : berth_err_oom(err);
}

int berth_precheck(const struct berth_precheck *precheck,
                   struct berth_injected *ret_injected, struct berth_err *err)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_launch launch = *precheck->launch;
    struct check check = {.precheck = precheck, .launch = &launch};
    struct berth_temporary container = {.launch = &launch,
                                        .mask = precheck->mask,
                                        .seconds = precheck->seconds,
                                        .deadline = precheck->deadline,
                                        .run = check_inside,
                                        .data = &check};
    struct berth_err why;
    int result = 0;

    if (copy_request(launch.request, &request, err) < 0)
        return -1;
    launch.request = &request;
    if (berth_temporary(&container, &why) < 0) {
        if (check.is_running) {
            *err = why;
            return -1;
        }
        result = add_warning(precheck, &why, &check.injected, err);
    }
    if (result == 0)
        result = add_note(precheck, &check.injected.binding, err);
    if (result < 0)
        berth_injected_fini(&check.injected);
    else
        *ret_injected = check.injected;
    return result;
}

char *berth_precheck_own(const struct berth_inject *inject)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_launch launch = *inject->launch;
    struct berth_inject copy = *inject;
    struct berth_injected injected = {0};
    const char *text = NULL;
    struct berth_err why;
    char *warning = NULL;

    if (copy_request(launch.request, &request, &why) < 0)
        return NULL;
    launch.request = &request;
    copy.launch = &launch;
    text =
        berth_inject(&copy, &injected, &why) < 0 ? why.text : injected.binding.warning;
    if (text && asprintf(&warning, "if the program uses MPI: %s", text) < 0)
        warning = NULL;
    berth_injected_fini(&injected);
    return warning;
}
