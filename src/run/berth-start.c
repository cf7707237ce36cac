/* SPDX-License-Identifier: Apache-2.0 */
/* berth-start: berth-task becomes this program when it has more to do than to join. The
 * first task of a step on a node starts the container here, and joins it as all others
 * do. Where a container cannot be joined, each task becomes a runtime that runs the
 * command. */

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "plan/launch.h"
#include "plan/order.h"
#include "container/start.h"
#include "container/join.h"
#include "image/policyfacts.h"
#include "image/signature.h"
#include "job/client.h"
#include "container/become.h"
#include "container/program.h"
#include "ipc/rendezvous.h"
#include "run/jobserver.h"
#include "run/supervisor.h"
#include "run/notice.h"
#include "run/slowstart.h"
#include "run/task.h"

extern char **environ;

/* Print the notices of this node and append the record of the component; a failure does
 * not end the step. WHY each task has a container of its own; NULL: tasks share one. */
static void print_notices(const struct berth_task *task,
                          const struct berth_rendezvous *rendezvous, const char *why)
{
    bool prints = task->order.step.prints_component;

    if (prints && berth_request_is_explained(&task->order.request))
        return; /* the explanation says it */
    berth_notice_print(task, rendezvous, why);
    if (prints && task->order.record)
        berth_notice_record(task, why);
}

/* Find out how the container is started, once for all tasks, and check the signatures
 * of the image if the site wants any. */
static int prepare(struct berth_task *task, const struct berth_rendezvous *rendezvous,
                   struct berth_err *err)
{
    struct berth_signature signature = {
        .image = task->order.request.image,
        .terms = &task->order.terms,
        .environment = environ,
        .seconds = rendezvous->node->limit,
        .deadline = &rendezvous->page->deadline,
    };

    if (berth_prepare(task, err) < 0)
        return -1;
    signature.runtime = task->launch.runtime;
    return berth_signature_check(&signature, err);
}

/* Find the image of a container with a name, if the step leaves it out. */
static int find_image(struct berth_task *task,
                      const struct berth_rendezvous *rendezvous, struct berth_err *err)
{
    const struct berth_job_question question = {
        .launch = &task->launch,
        .tasks = rendezvous->tasks,
        .deadline = &rendezvous->page->deadline,
    };
    struct berth_request *request = &task->order.request;

    if (request->image)
        return 0;
    if (!task->order.job)
        return berth_err_set(err,
                             "--container-name: only a step of srun finds a container "
                             "by its name; give --container-image=IMAGE");
    if (berth_job_find_image(&question, &request->image, &request->uri, err) < 0)
        return -1;
    return berth_apply_site_to_found(&task->order.terms, request, err);
}

/* In the first task: start the container of the rendezvous. If that fails, the
 * rendezvous has the reason for all tasks. */
static void start(struct berth_task *task, struct berth_rendezvous *rendezvous)
{
    struct berth_err err;
    int result = find_image(task, rendezvous, &err);

    if (result == 0)
        result = prepare(task, rendezvous, &err);
    /* in the meantime a waiting task may have given up for all */
    if (result == 0 && rendezvous->page->state == BERTH_RENDEZVOUS_STARTING)
        result = berth_supervisor_start(&task->launch, rendezvous, &err);
    if (result < 0)
        berth_rendezvous_fail(rendezvous, &err);
}

/* Does this task print what explains its component, or its lines of a --multi-prog
 * file? */
static bool prints_explanation(const struct berth_task *task)
{
    const struct berth_order_step *step = &task->order.step;
    bool is_chosen = step->prints_component;

    if (step->nodes) /* it is one of the lines of a --multi-prog file */
        is_chosen = step->is_first;
    return is_chosen && berth_request_is_explained(&task->order.request);
}

/* Explain the component if this task is to. Returns as run(). */
static int explain(struct berth_task *task, const char *why, struct berth_err *err)
{
    struct berth_explain explanation;

    if (!prints_explanation(task))
        return 0;
    if (berth_explainfacts_collect(task, why, &explanation, err) < 0)
        return -1;
    return berth_explainfacts_print(&explanation, err);
}

/* List what the site unsets, and what the site and --container-env set: a runtime sets
 * a variable with its prefix after those of the image. */
static void list_environment(const struct berth_task *task, struct berth_strvec *ret)
{
    BERTH_STRVEC struct berth_strvec asked = {0};

    berth_launch_env(&task->order.request, &task->order.terms, task->launch.environment,
                     &asked);
    for (size_t i = 0; i < asked.count; i++) {
        const bool is_unset = !strchr(asked.items[i], '=');

        if (is_unset)
            berth_strvec_push(ret, asked.items[i]);
        berth_strvec_pushf(ret, "APPTAINERENV_%s", asked.items[i]);
        berth_strvec_pushf(ret, "SINGULARITYENV_%s", asked.items[i]);
    }
    ret->failed |= asked.failed;
}

/* May the task, in a container of its own, use an MPI with other tasks? */
static bool may_use_mpi(const struct berth_order *order)
{
    bool has_others = order->container.others > 0 || order->container.hosts > 0;

    if (has_others)
        return !berth_request_mpi_declined(&order->request);
    return !berth_request_mpi_is(&order->request, BERTH_MODE_OFF);
}

/* Become a runtime that runs the command in a container of this task alone. Returns as
 * run(). */
static int run_alone(struct berth_task *task, struct berth_err *err)
{
    const struct berth_order *order = &task->order;
    BERTH_STRVEC struct berth_strvec argv = {0};
    BERTH_STRVEC struct berth_strvec set = {0};

    if (may_use_mpi(order)) /* which cannot read the memory of others on this node */
        berth_launch_separate(task->launch.environment, &set);
    list_environment(task, &set);
    if (berth_prepare(task, err) < 0 ||
        berth_launch_own_argv(&task->launch, &argv, err) < 0 ||
        berth_task_set(&set, err) < 0)
        return -1;
    if (order->report >= 0)
        fcntl(order->report, F_SETFD, FD_CLOEXEC);
    return berth_start_become(&task->launch, argv.items, err);
}

/* Run the command in a container of this task alone; WHY: the reason. Returns as run().
 */
static int run_separate(struct berth_task *task, const char *why, struct berth_err *err)
{
    if (berth_task_check_launch(task, "each task has a container of its own", err) < 0)
        return -1;
    if (berth_request_is_explained(&task->order.request))
        return explain(task, why, err);
    return run_alone(task, err);
}

/* Run the command in the container of the rendezvous. Returns as run(). */
static int run_joined(struct berth_task *task,
                      const struct berth_rendezvous *rendezvous, struct berth_err *err)
{
    bool explains = prints_explanation(task);
    struct berth_explain explanation;
    int status;

    /* before it joins: it then no longer is on the host */
    if (explains && berth_explainfacts_collect(task, NULL, &explanation, err) < 0)
        return -1;
    status = berth_joined_become(task, rendezvous, err);
    if (status != 0 || !explains)
        return status;
    berth_explainfacts_look(&explanation);
    return berth_explainfacts_print(&explanation, err);
}

/* Run the command when the start has ended well. WHY as in print_notices(). Returns as
 * run(). */
static int run_started(struct berth_task *task, struct berth_rendezvous *rendezvous,
                       bool is_first, const char *why, struct berth_err *err)
{
    const struct berth_rendezvous_page *page = rendezvous->page;
    const char *binding = page->text + page->binding.at;
    bool only_joins =
        !is_first && !why && !berth_request_is_explained(&task->order.request);

    if (!only_joins &&
        berth_binding_get(binding, page->binding.count, &task->binding, err) < 0)
        return -1;
    if (is_first)
        print_notices(task, rendezvous, why);
    if (why)
        return run_separate(task, why, err);
    return run_joined(task, rendezvous, err);
}

/* Meet the other tasks of the step on this node, and run the command. Returns as run().
 */
static int run_shared(struct berth_task *task, struct berth_err *err)
{
    struct berth_rendezvous rendezvous = berth_task_rendezvous(task);
    struct berth_err why;
    bool is_first;

    if (berth_rendezvous_enter(&rendezvous, err) < 0)
        return -1;
    is_first = berth_rendezvous_claim(&rendezvous);
    if (is_first && rendezvous.page->state == BERTH_RENDEZVOUS_STARTING)
        start(task, &rendezvous);
    if (is_first)
        berth_slowstart_watch(task, &rendezvous);
    switch (berth_rendezvous_wait(&rendezvous, err)) {
    case BERTH_RENDEZVOUS_READY:
        return run_started(task, &rendezvous, is_first, NULL, err);
    case BERTH_RENDEZVOUS_SEPARATE:
        why = *err;
        return run_started(task, &rendezvous, is_first, why.text, err);
    case BERTH_RENDEZVOUS_LOST:
        return berth_err_set(err, BERTH_JOIN_DEAD);
    default:
        return -1;
    }
}

/* Run a line of --multi-prog that has no image, on the host, as slurmstepd would.
 * Returns as run(). */
static int run_on_host(const struct berth_task *task, struct berth_err *err)
{
    const struct berth_order *order = &task->order;
    const int given[] = {order->report, order->memory, order->tasks, order->ended};
    BERTH_STRVEC struct berth_strvec set = {0};

    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
        if (given[i] >= 0)
            fcntl(given[i], F_SETFD, FD_CLOEXEC);
    if (order->container.others > 0 && !berth_request_mpi_declined(&order->request))
        berth_launch_separate(task->launch.environment, &set);
    if (berth_task_set(&set, err) < 0)
        return -1;
    return berth_become_on_host(task->launch.command, err);
}

/* Become the command. Returns only if that fails, or if the step is only explained: the
 * exit status (-1: BERTH_REFUSED). If the status is not 0, ERR has the sentence, or ""
 * if another process has printed it. */
static int run(struct berth_task *task, char **argv, struct berth_err *err)
{
    if (berth_task_read(task, argv, err) < 0 || berth_task_hide_step(task, err) < 0)
        return -1;
    if (berth_request_has_container(&task->order.request))
        return run_shared(task, err);
    if (berth_request_is_explained(&task->order.request))
        return explain(task, NULL, err);
    return run_on_host(task, err);
}

int main(int argc, char **argv)
{
    struct berth_task task = {.order = BERTH_ORDER_EMPTY};
    struct berth_err err;
    bool is_task = getenv(BERTH_TASK_ORDER) != NULL; /* ARGV is the user's command */

    berth_fd_reserve();
    if (!is_task && berth_program_prints_version("berth-start", argc, argv))
        return EXIT_SUCCESS;
    if (!is_task && argc == 3 && strcmp(argv[1], "--job") == 0) {
        berth_jobserver_run(atoi(argv[2]));
        return EXIT_SUCCESS;
    }
    if (berth_program_protect(argv, &err) < 0)
        return berth_task_end(&task, -1, &err);
    return berth_task_end(&task, run(&task, argv, &err), &err);
}
