/* SPDX-License-Identifier: Apache-2.0 */
/* What the first task of a node has to say, and to keep, before it becomes the command.
 */

#include "launch/notice.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "report/explain.h"
#include "probe/runtime.h"
#include "launch/record.h"

bool berth_notice_is_verbose(char *const *environment)
{
    enum { USUAL = 3 }; /* without -v (LOG_LEVEL_INFO of Slurm's log.h) */
    const char *level = berth_environ_value(environment, "SRUN_DEBUG");

    return level && atoi(level) > USUAL;
}

static bool is_verbose(const struct berth_notice *told)
{
    return berth_notice_is_verbose(told->environment);
}

/* Does this node say whose MPI runs? One does for a component where berth has chosen;
 * each where they may differ, or somebody asks. */
static bool says_choice(const struct berth_notice *told)
{
    return is_verbose(told) || berth_request_explained(told->request) ||
           berth_rendezvous_differs(told->rendezvous) ||
           (told->leads && berth_request_mpi_is(told->request, BERTH_MODE_AUTO));
}

/* Whose MPI runs, and what may go wrong. */
static void tell_choice(const struct berth_notice *told)
{
    const char *note = berth_rendezvous_noted(told->rendezvous);
    const char *warning = berth_rendezvous_warned(told->rendezvous);

    if (note && says_choice(told))
        fprintf(stderr, "berth: %s: image '%s': --mpi-bind=%s: %s\n", told->node,
                berth_request_name(told->request), told->request->mpi, note);
    if (warning && (is_verbose(told) || told->leads))
        fprintf(stderr, "berth: %s: image '%s': --mpi-bind=%s: warning: %s\n",
                told->node, berth_request_name(told->request), told->request->mpi,
                warning);
}

void berth_tell(const struct berth_notice *told)
{
    unsigned int tasks = berth_rendezvous_tasks(told->rendezvous);

    tell_choice(told);
    if (berth_rendezvous_unpacked(told->rendezvous))
        fprintf(stderr, BERTH_NOTICE_UNPACKED, told->node,
                berth_request_name(told->request));
    if (is_verbose(told))
        fprintf(stderr, "berth: %s: image '%s': %s %u task%s%s%s\n", told->node,
                berth_request_name(told->request),
                told->apart ? "a container for each of" : "one container for", tasks,
                tasks == 1 ? "" : "s", told->apart ? ": " : "",
                told->apart ? told->apart : "");
}

static int keep(const struct berth_notice *told, const char *pattern,
                struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec restored = {0};
    BERTH_FREE char *runtime = NULL;
    struct berth_explain_step step;
    struct berth_record record = {.time = time(NULL),
                                  .environment = told->environment,
                                  .node = told->node,
                                  .request = told->request,
                                  .digest_limit = told->digest_limit,
                                  .apart = told->apart};

    if (berth_runtime_find(told->runtime,
                           berth_environ_value(told->environment, "PATH"), &runtime,
                           err) < 0)
        return -1;
    berth_explain_get_step(told->step, &restored, NULL, &step);
    record.component = step.component;
    record.nodes = step.nodes;
    record.tasks = step.tasks;
    record.runtime = runtime;
    record.note = told->rendezvous ? berth_rendezvous_noted(told->rendezvous) : NULL;
    return berth_record_append(&record, pattern, err);
}

void berth_notice_keep(const struct berth_notice *told, const char *pattern)
{
    struct berth_err err;

    if (keep(told, pattern, &err) < 0 && is_verbose(told))
        fprintf(stderr, "berth: %s: no record is kept: %s\n", told->node, err.text);
}
