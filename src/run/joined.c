/* SPDX-License-Identifier: Apache-2.0 */
/* A task joins the container, and becomes the command. */

#include "run/task.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/text.h"
#include "plan/envdiff.h"
#include "plan/launch.h"
#include "step/become.h"
#include "step/join.h"
#include "step/marks.h"

extern char **environ;

/* Returns the last directory of the PATH in ENVIRONMENT, with its colon, if it has the
 * commands of the host; else NULL. */
static const char *end_of_path(char *const *environment)
{
    const char *path = berth_environ_value(environment, "PATH");
    const char *end = path ? strrchr(path, ':') : NULL;

    return end && berth_text_starts(end, BERTH_OUTSIDE_PATH) ? end : NULL;
}

/* Append END to a PATH of --container-env, too. */
static int put_end_of_path(const char *end)
{
    const char *path = getenv("PATH");
    BERTH_FREE char *whole = NULL;

    if (!end || !path || berth_text_ends(path, end))
        return 0;
    return asprintf(&whole, "%s%s", path, end) < 0 ? -1 : setenv("PATH", whole, 1);
}

/* Apply the changes of the runtime, and then --container-env, to the environment of
 * this process.
 */
static int apply_environment(const struct berth_task *task,
                             const struct berth_rendezvous *rendezvous,
                             struct berth_err *err)
{
    static struct berth_strvec variables; /* the process's environment from now on */
    BERTH_STRVEC struct berth_strvec asked = {0};
    const struct berth_rendezvous_page *page = rendezvous->page;
    const char *end;

    berth_launch_env(&task->order.request, &task->order.terms, task->environment,
                     &asked);
    if (berth_envdiff_apply(page->text + page->before.at, page->before.count,
                            page->text + page->after.at, page->after.count, environ,
                            &variables, err) < 0)
        return -1;
    environ = variables.items;
    end = end_of_path(environ);
    if (berth_task_set(&asked, err) < 0)
        return -1;
    return put_end_of_path(end) < 0 ? berth_err_oom(err) : 0;
}

/* Tell slurmstepd if the command gets no LD_LIBRARY_PATH of the host. */
static void tell_dropped(const struct berth_task *task,
                         const struct berth_rendezvous *rendezvous)
{
    const char *host = berth_environ_value(task->environment, "LD_LIBRARY_PATH");
    const char *now = getenv("LD_LIBRARY_PATH");

    if (host && *host && (!now || !strstr(now, host)))
        rendezvous->node->has_dropped = true;
}

static int become(const struct berth_task *task,
                  const struct berth_rendezvous *rendezvous, struct berth_err *err)
{
    struct berth_strvec command = {0};
    char *pwd = getenv("PWD"); /* outlives the change of the environment */
    struct berth_become it = {
        .workdir = task->order.request.workdir, .stay = task->directory, .pwd = pwd};

    berth_launch_command(&task->order.request, task->command, &command);
    it.command = command.items;
    if (command.failed)
        return berth_err_oom(err);
    if (berth_join(rendezvous->page->holder, err) < 0)
        return -1;
    berth_marks_join(task->environment);
    if (apply_environment(task, rendezvous, err) < 0 ||
        berth_become_chdir(&it, err) < 0)
        return -1;
    tell_dropped(task, rendezvous);
    if (task->order.report >= 0)
        fcntl(task->order.report, F_SETFD, FD_CLOEXEC);
    return berth_request_is_explained(&task->order.request)
               ? berth_become_try(&it, err)
               : berth_become_command(&it, err);
}

int berth_joined_become(const struct berth_task *task,
                        const struct berth_rendezvous *rendezvous,
                        struct berth_err *err)
{
    int status = become(task, rendezvous, err);

    if (status == 0)
        return 0;
    rendezvous->node->has_refused = true;
    berth_err_at(err, "image '%s'", berth_request_name(&task->order.request));
    return status;
}
