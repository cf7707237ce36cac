/* SPDX-License-Identifier: Apache-2.0 */
/* A container that is only looked into: started, entered by a child, ended. */

#include "launch/visit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "plan/launch.h"
#include "base/detach.h"
#include "step/identity.h"
#include "step/join.h"
#include "step/log.h"
#include "step/program.h"
#include "launch/start.h"

extern char **environ;

/* The descriptors of the runtime and berth-init. */
enum { TASKS = 10, READY = 11, INIT = 12 };

struct container {
    const struct berth_visit *visit;     /* NULL: of a step */
    const struct berth_visit_step *step; /* NULL: of no step */
    unsigned int seconds;                /* that it may take to start, */
    struct berth_deadline *deadline;     /* and what is left of them */
    struct berth_launch launch;
    struct berth_strvec argv;
    int init, log;
    int tasks[2], ready[2];
    pid_t runtime;
};

static int refuse(struct berth_err *err)
{
    return berth_err_set(err, "cannot start a process: %s", strerror(errno));
}

/* What is for the runtime of a step as it is for that of its tasks. */
static int enter_step(const struct container *it, struct berth_err *err)
{
    if (!it->step)
        return 0;
    if (berth_start_enter(it->launch.directory) < 0)
        return berth_err_set(err, "%s: %s", it->launch.directory, strerror(errno));
    sigprocmask(SIG_SETMASK, it->step->mask, NULL);
    return it->launch.unknown_user ? berth_identity_provide(err) : 0;
}

/* In the process that becomes the runtime: with its three descriptors and no other. */
static void become_runtime(const struct container *it)
{
    int null = open("/dev/null", O_RDONLY);
    int tasks = fcntl(it->tasks[0], F_DUPFD, INIT + 1);
    int ready = fcntl(it->ready[1], F_DUPFD, INIT + 1);
    int init = fcntl(it->init, F_DUPFD, INIT + 1);
    struct berth_err err;

    berth_hide_from(STDERR_FILENO + 1);
    dup2(null, STDIN_FILENO);
    dup2(it->log, STDOUT_FILENO);
    dup2(it->log, STDERR_FILENO);
    setpgid(0, 0);
    if (dup2(tasks, TASKS) < 0 || dup2(ready, READY) < 0 || dup2(init, INIT) < 0)
        _exit(EXIT_FAILURE);
    if (enter_step(it, &err) < 0) {
        dprintf(STDERR_FILENO, "%s\n", err.text);
        _exit(EXIT_FAILURE);
    }
    execv(it->launch.runtime, it->argv.items);
    dprintf(STDERR_FILENO, "%s\n", strerror(errno));
    _exit(EXIT_FAILURE);
}

static int start(struct container *it, struct berth_err *err)
{
    int on = 1;

    it->log = berth_log_open(err);
    it->init = it->log < 0 ? -1 : berth_program_open(err);
    if (it->init < 0)
        return -1;
    if (pipe2(it->tasks, O_CLOEXEC) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, it->ready) < 0 ||
        setsockopt(it->ready[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
        return berth_err_set(err, "cannot make a socket: %s", strerror(errno));
    it->runtime = fork();
    if (it->runtime == 0)
        become_runtime(it);
    close(it->tasks[0]);
    close(it->ready[1]);
    it->tasks[0] = it->ready[1] = -1;
    return it->runtime < 0 ? refuse(err) : 0;
}

/* In the process that enters: `+` and what was seen, or `-` and a sentence. What it
 * starts of the image has nothing of ours open, and not the user's terminal. */
static void look(const struct container *it, pid_t holder, struct berth_strvec *env,
                 int answer)
{
    static char *nothing[] = {NULL};
    struct berth_buf out = {0};
    struct berth_err err;

    berth_buf_puts(&out, "+");
    berth_hide_from(STDERR_FILENO + 1);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    environ = env->items ? env->items : nothing;
    if (berth_join(holder, &err) < 0 ||
        it->visit->look(it->visit->told, &out, &err) < 0)
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
        return berth_err_set(err, "the look into the image ended early; try again");
    if (all.text[0] != '+')
        return berth_err_set(err, "%s", all.text + 1);
    berth_buf_add(ret, all.text + 1, all.used - 1);
    return ret->failed ? berth_err_oom(err) : 0;
}

static int await(const struct container *it, pid_t *ret_holder,
                 struct berth_buf *ret_variables, struct berth_err *err)
{
    struct berth_start start = {.launch = &it->launch,
                                .runtime = it->runtime,
                                .log = it->log,
                                .answer = it->ready[0],
                                .tasks = -1,
                                .seconds = it->seconds,
                                .deadline = it->deadline};

    return berth_start_await(&start, ret_holder, ret_variables, err);
}

static int enter(const struct container *it, struct berth_buf *ret,
                 struct berth_err *err)
{
    BERTH_BUF struct berth_buf variables = {0};
    BERTH_STRVEC struct berth_strvec env = {0};
    pid_t holder = 0;
    pid_t child;
    int answer[2];
    int result;

    if (await(it, &holder, &variables, err) < 0)
        return -1;
    berth_environ_split(variables.text, variables.used, &env);
    if (env.failed)
        return berth_err_oom(err);
    if (pipe2(answer, O_CLOEXEC) < 0)
        return berth_err_set(err, "cannot make a pipe: %s", strerror(errno));
    child = fork();
    if (child == 0) {
        close(it->tasks[1]);
        look(it, holder, &env, answer[1]);
    }
    close(answer[1]);
    result = child < 0 ? refuse(err) : read_answer(answer[0], ret, err);
    close(answer[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return result;
}

/* berth-init ends when nobody holds the other end of its pipe, and the runtime then. */
static void end(struct container *it, int result)
{
    if (it->tasks[1] >= 0)
        close(it->tasks[1]);
    if (it->runtime > 0 && result < 0)
        kill(-it->runtime, SIGTERM);
    while (it->runtime > 0 && waitpid(it->runtime, NULL, 0) < 0 && errno == EINTR)
        ;
    if (it->ready[0] >= 0)
        close(it->ready[0]);
    if (it->init >= 0)
        close(it->init);
    if (it->log >= 0)
        close(it->log);
    berth_strvec_fini(&it->argv);
}

int berth_visit(const struct berth_visit *visit, struct berth_buf *ret,
                struct berth_err *err)
{
    static char *const command[] = {NULL};
    BERTH_REQUEST struct berth_request request = {.home = BERTH_NO};
    struct berth_deadline deadline;
    char init[BERTH_PROGRAM_NAME];
    struct container it = {.visit = visit,
                           .seconds = visit->seconds,
                           .deadline = &deadline,
                           .init = -1,
                           .log = -1,
                           .tasks = {-1, -1},
                           .ready = {-1, -1},
                           .launch = {.runtime = visit->runtime,
                                      .init = init,
                                      .node = "",
                                      .place = "",
                                      .prefix = "",
                                      .report = -1,
                                      .guard = -1,
                                      .said = -1,
                                      .request = &request,
                                      .environment = environ,
                                      .command = command}};
    int result;

    berth_program_name(INIT, init);
    request.image = strdup(visit->image);
    berth_strvec_push(&request.args, "--userns");
    berth_strvec_push(&request.args, "--pid"); /* it may not see the user's processes */
    if (!request.image || request.args.failed)
        return berth_err_oom(err);
    if (berth_launch_holder_argv(&it.launch, TASKS, READY, &it.argv, err) < 0)
        return -1;
    berth_deadline_begin(&deadline, visit->seconds);
    result = start(&it, err) < 0 ? -1 : enter(&it, ret, err);
    end(&it, result);
    return result;
}

static int use(const struct container *it, struct berth_err *err)
{
    BERTH_BUF struct berth_buf variables = {0};
    pid_t holder = 0;

    if (await(it, &holder, &variables, err) < 0)
        return -1;
    return it->step->use(it->step->told, holder, &variables, err);
}

int berth_visit_step(const struct berth_visit_step *step, struct berth_err *err)
{
    char init[BERTH_PROGRAM_NAME];
    struct container it = {.step = step,
                           .seconds = step->seconds,
                           .deadline = step->deadline,
                           .init = -1,
                           .log = -1,
                           .tasks = {-1, -1},
                           .ready = {-1, -1},
                           .launch = *step->launch};
    int result;

    berth_program_name(INIT, init);
    it.launch.init = init;
    if (berth_launch_holder_argv(&it.launch, TASKS, READY, &it.argv, err) < 0)
        return -1;
    result = start(&it, err) < 0 ? -1 : use(&it, err);
    end(&it, result);
    return result;
}
