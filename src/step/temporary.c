/* SPDX-License-Identifier: Apache-2.0 */
/* A container for an inspection: it is started, a child enters it, and it ends. */

#include "step/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/detach.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/run.h"
#include "plan/launch.h"
#include "step/start.h"
#include "step/join.h"

extern char **environ;

/* In the child: enter the container, inspect it, and write `+` and the result, or `-`
 * and a sentence. Programs of the image that it starts inherit no descriptor of berth,
 * and not the user's terminal. */
_Noreturn static void run(const struct berth_temporary_inspection *inspection,
                          struct berth_holder holder, struct berth_strvec *env,
                          int answer)
{
    static char *nothing[] = {NULL};
    struct berth_buf out = {0};
    struct berth_err err;

    berth_buf_puts(&out, "+");
    berth_cloexec_from(STDERR_FILENO + 1);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    environ = env->items ? env->items : nothing;
    if (berth_join(holder, &err) < 0 ||
        inspection->inside(inspection->data, &out, &err) < 0)
        dprintf(answer, "-%s", err.text);
    else if (out.failed)
        dprintf(answer, "-out of memory");
    else
        berth_fd_write(answer, out.text, out.used);
    _exit(EXIT_SUCCESS);
}

static int read_answer(int fd, struct berth_buf *ret, struct berth_err *err)
{
    BERTH_BUF struct berth_buf all = {0};

    berth_fd_read(fd, SIZE_MAX, &all);
    if (all.failed)
        return berth_err_oom(err);
    if (!all.text)
        return berth_err_set(err, "the inspection of the image ended early; try again");
    if (all.text[0] != '+')
        return berth_err_set(err, "%s", all.text + 1);
    berth_buf_add(ret, all.text + 1, all.used - 1);
    return ret->failed ? berth_err_oom(err) : 0;
}

/* Inspect the container of HOLDER, whose environment is VARIABLES. */
static int enter(const struct berth_temporary_inspection *inspection,
                 struct berth_holder holder, const struct berth_buf *variables,
                 struct berth_buf *ret, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec env = {0};
    pid_t child;
    int answer[2];
    int result;

    berth_environ_split(variables->text, variables->used, &env);
    if (env.failed)
        return berth_err_oom(err);
    if (pipe2(answer, O_CLOEXEC) < 0)
        return berth_err_spent(err, errno);
    child = fork();
    if (child == 0)
        run(inspection, holder, &env, answer[1]);
    close(answer[1]);
    result = child < 0 ? berth_err_spent(err, errno) : read_answer(answer[0], ret, err);
    close(answer[0]);
    berth_run_wait(child);
    return result;
}

int berth_temporary_inspect(const struct berth_temporary_inspection *inspection,
                            struct berth_buf *ret, struct berth_err *err)
{
    BERTH_REQUEST struct berth_request request = {.home = BERTH_NO};
    struct berth_launch launch = {.runtime = inspection->runtime,
                                  .directory = ".",
                                  .request = &request,
                                  .environment = environ};
    BERTH_BUF struct berth_buf variables = {0};
    struct berth_deadline deadline;
    struct berth_start start = {.launch = &launch,
                                .programs = -1,
                                .inner = -1,
                                .log = -1,
                                .answer = -1,
                                .seconds = inspection->seconds,
                                .deadline = &deadline};
    struct berth_holder holder;
    int result = -1;
    int tasks[2];

    request.image = strdup(inspection->image);
    berth_strvec_push(&request.args, "--userns");
    berth_strvec_push(
        &request.args,
        "--pid"); /* the user's processes are hidden from programs of the image */
    if (!request.image || request.args.failed)
        return berth_err_oom(err);
    if (pipe2(tasks, O_CLOEXEC) < 0)
        return berth_err_spent(err, errno);
    berth_deadline_begin(&deadline, inspection->seconds);
    start.tasks = tasks[0];
    if (berth_start(&start, err) == 0 &&
        berth_start_await(&start, &holder, &variables, err) == 0)
        result = enter(inspection, holder, &variables, ret, err);
    close(tasks[1]); /* berth-init ends, and then the runtime */
    if (start.runtime && result < 0)
        kill(-start.runtime, SIGTERM);
    berth_run_wait(start.runtime);
    close(tasks[0]);
    berth_start_fini(&start);
    return result;
}
