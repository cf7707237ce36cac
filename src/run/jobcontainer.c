/* SPDX-License-Identifier: Apache-2.0 */
/* One container of a job, which its steps join. It has a rendezvous of its own, in
 * which this process does what slurmstepd and the first task do in a step. */

#include "run/jobcontainer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/err.h"
#include "job/key.h"
#include "job/message.h"
#include "job/variables.h"
#include "step/namespaces.h"
#include "step/rendezvous.h"
#include "run/prepare.h"
#include "run/supervisor.h"
#include "run/task.h"

extern char **environ;

enum { START_SECONDS = 600 }; /* the step that waits gives up earlier */

/* Enter the rendezvous MADE as a task does; RET is for the supervisor. */
static int enter(const struct berth_rendezvous *made, struct berth_rendezvous *ret,
                 struct berth_err *err)
{
    *ret = *made;
    ret->memory = dup(made->memory);
    ret->tasks = dup(made->tasks);
    ret->ended = dup(made->ended);
    return berth_rendezvous_enter(ret, err);
}

/* This process has all signals blocked, and the runtime must not: start it with none
 * blocked. */
static int start_unblocked(const struct berth_launch *launch,
                           struct berth_rendezvous *rendezvous, struct berth_err *err)
{
    sigset_t none, all;
    int result;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, &all);
    result = berth_supervisor_start(launch, rendezvous, err);
    sigprocmask(SIG_SETMASK, &all, NULL);
    return result;
}

/* Start the container, and wait until tasks can join it. */
static int start(const struct berth_handover *question, struct berth_rendezvous *made,
                 struct berth_rendezvous *ret, struct berth_err *err)
{
    static char name[] = "berth-start", nothing[] = "true"; /* no step, no command */
    static char *words[] = {name, nothing, NULL};
    struct berth_task task = {.order = BERTH_ORDER_EMPTY};
    struct berth_job_launch job = {0};
    struct berth_launch launch;

    environ = question->environment.items;
    if (setenv(BERTH_TASK_ORDER, question->words.items[BERTH_JOB_ORDER], 1) < 0)
        return berth_err_oom(err);
    if (chdir(question->words.items[BERTH_JOB_DIRECTORY]) < 0 && chdir("/") < 0)
        return -1;
    if (berth_task_read(&task, words, err) < 0 ||
        berth_prepare(&task, &launch, err) < 0 ||
        berth_job_launch_from(&launch, &job, err) < 0 ||
        berth_rendezvous_make(made, 1, err) < 0)
        return -1;
    berth_rendezvous_configure(made, START_SECONDS, NULL);
    if (enter(made, ret, err) < 0 || !berth_rendezvous_claim(ret, 1) ||
        start_unblocked(&job.launch, ret, err) < 0)
        return -1;
    return berth_rendezvous_wait(ret, err) == BERTH_RENDEZVOUS_READY ? 0 : -1;
}

/* Find the variables on which the environment of the image depends. Only a process in
 * the container's user namespace may read files of the image, so this process enters
 * it, and stays. */
static void find_variables(pid_t holder, struct berth_strvec *ret)
{
    BERTH_FREE char *root = NULL;

    if (berth_namespaces_enter_user(holder) < 0 ||
        asprintf(&root, "/proc/%d/root", holder) < 0)
        berth_strvec_push(ret, BERTH_JOB_ANY);
    else
        berth_job_variables_find(root, ret);
}

/* Returns the descriptor of the answer, or -1. */
static int write_answer(const struct berth_rendezvous *rendezvous,
                        struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_STRVEC struct berth_strvec environment = {0};
    struct berth_holder holder = berth_rendezvous_holder(rendezvous);
    size_t count, before;
    const char *part = berth_rendezvous_before(rendezvous, &count);

    berth_environ_split(part, count, &environment);
    before = environment.count;
    berth_strvec_push(&words, BERTH_VERSION);
    berth_strvec_pushf(&words, "%d", holder.pid);
    berth_strvec_pushf(&words, "%u", holder.mounts);
    berth_strvec_pushf(&words, "%zu", before);
    part = berth_rendezvous_after(rendezvous, &count);
    berth_environ_split(part, count, &environment);
    if (environment.failed)
        return berth_err_oom(err);
    if (berth_job_variables_cleaned(environ, environment.items + before))
        berth_strvec_push(&words, "*");
    find_variables(holder.pid, &words);
    if (words.failed)
        return berth_err_oom(err);
    return berth_handover_write(&words, environment.items, err);
}

/* Wait until the container has ended. The supervisor reports its end, unless it was
 * killed. */
static void await_end(const struct berth_rendezvous *made,
                      struct berth_rendezvous *rendezvous, struct berth_holder holder)
{
    enum { LOOK_AGAIN_SECONDS = 1 };

    close(rendezvous->ended); /* else the pipe has a writer */
    while (!berth_rendezvous_await_loss(rendezvous, LOOK_AGAIN_SECONDS) &&
           berth_holder_is_there(holder) && !berth_rendezvous_is_any_lost(made))
        ;
}

void berth_jobcontainer_run(int channel, const struct berth_handover *question)
{
    struct berth_rendezvous made, rendezvous;
    struct berth_err err;
    int answer;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (start(question, &made, &rendezvous, &err) < 0 ||
        (answer = write_answer(&rendezvous, &err)) < 0 ||
        berth_job_send(channel, BERTH_JOB_JOIN, answer) < 0)
        _exit(EXIT_FAILURE);
    close(answer);
    await_end(&made, &rendezvous, berth_rendezvous_holder(&rendezvous));
    _exit(EXIT_SUCCESS);
}
