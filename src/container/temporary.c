/* SPDX-License-Identifier: Apache-2.0 */
/* A container for an inspection: it is started, a child enters it, and it ends. */

#include "container/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/detach.h"
#include "base/run.h"
#include "plan/launch.h"
#include "container/start.h"
#include "container/join.h"

extern char **environ;

/* In the child. Programs of the image that it starts inherit no descriptor of berth,
 * and not the user's terminal. */
static int enter(struct berth_holder holder, struct berth_strvec *variables,
                 struct berth_err *err)
{
    static char *nothing[] = {NULL};

    berth_cloexec_from(STDERR_FILENO + 1);
    setsid();
    environ = nothing;
    if (variables->items)
        environ = variables->items;
    *variables = (struct berth_strvec){0};
    if (berth_join(holder, err) < 0)
        return -1;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a user namespace clears it */
    return 0;
}

int berth_temporary_enter(const char *runtime, const char *image, const char *reader,
                          unsigned int seconds, struct berth_err *err)
{
    BERTH_REQUEST struct berth_request request = {.home = BERTH_NO,
                                                  .image = strdup(image)};
    const struct berth_launch launch = {.runtime = runtime,
                                        .reader = reader,
                                        .directory = ".",
                                        .request = &request,
                                        .environment = environ};
    BERTH_STRVEC struct berth_strvec variables = {0};
    struct berth_deadline deadline;
    struct berth_start start = {.launch = &launch,
                                .programs = -1,
                                .inner = -1,
                                .overlay = -1,
                                .log = -1,
                                .answer = -1,
                                .seconds = seconds,
                                .deadline = &deadline};
    struct berth_holder holder;
    int status, tasks[2];
    pid_t child = -1;

    berth_strvec_push(&request.args, "--userns");
    /* the user's processes are hidden from programs of the image */
    berth_strvec_push(&request.args, "--pid");
    if (!request.image || request.args.failed)
        return berth_err_oom(err);
    if (pipe2(tasks, O_CLOEXEC) < 0)
        return berth_err_spent(err, errno);
    berth_deadline_begin(&deadline, seconds);
    start.tasks = tasks[0];
    if (berth_start(&start, err) == 0 &&
        berth_start_await(&start, &holder, &variables, err) == 0) {
        child = fork();
        if (child < 0)
            berth_err_spent(err, errno);
    }
    if (child == 0)
        return enter(holder, &variables, err);

    status = berth_run_wait(child);
    close(tasks[1]); /* berth-init ends, and then the runtime */
    if (start.runtime && child < 0)
        kill(-start.runtime, SIGTERM);
    berth_run_wait(start.runtime);
    close(tasks[0]);
    berth_start_fini(&start);
    if (child > 0 && WIFEXITED(status))
        exit(WEXITSTATUS(status));
    if (child < 0)
        return -1;
    return berth_err_set(err, "the inspection of the image ended early; try again");
}
