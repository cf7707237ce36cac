/* SPDX-License-Identifier: Apache-2.0 */
/* berth-mpi: puts the host's MPI into a container that runs (--mpi-bind). Started by
 * the keeper, as the user, once for a step on a node. Finds the host's MPI stacks, and
 * stages the one that is asked for by its child, which enters the container. */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "plan/wire.h"
#include "probe/stack.h"
#include "task/inside.h"
#include "task/letter.h"
#include "task/stage.h"
#include "task/talk.h"

extern char **environ;

/* What the keeper wrote. */
struct order {
    struct berth_letter task;
    struct berth_letter container;
    struct berth_request request;
    int talk; /* to the keeper */
};

static int read_order(int argc, char **argv, struct order *order, struct berth_err *err)
{
    if (argc != 4)
        return berth_err_set(err, "started by hand; it is for berth-task only");
    order->talk = atoi(argv[3]);
    if (berth_letter_read(atoi(argv[1]), &order->task) < 0 ||
        berth_letter_read(atoi(argv[2]), &order->container) < 0 ||
        order->task.words.count != 3 || order->container.words.count < 1)
        return berth_err_set(err,
                             "started with wrong words; it is for berth-task only");
    return berth_wire_get_request(order->task.words.items[1], &order->request, err);
}

/* Stage the stack of number NUMBER, and tell inside where it is. A stack that cannot be
 * staged is told too: inside decides what that means. */
static int stage(const struct berth_stacks *stacks, const char *number, int inside,
                 struct berth_err *err)
{
    size_t at = strtoul(number, NULL, 10);
    struct berth_staged staged;
    BERTH_FREE char *answer = NULL;
    struct berth_err why;

    if (at >= stacks->count)
        return berth_err_set(err, "there is no stack %zu", at);
    if (berth_stage_get(&stacks->items[at], &staged, &why) < 0)
        return berth_talk_send(inside, BERTH_TALK_REFUSED, why.text, err);
    if (asprintf(&answer, "%s\n%s", staged.path, staged.mounted) < 0)
        answer = NULL;
    berth_staged_fini(&staged);
    return answer ? berth_talk_send(inside, BERTH_TALK_STAGED, answer, err)
                  : berth_err_oom(err);
}

/* Do what inside asks, and hand on what it tells. */
static int serve(const struct order *order, const struct berth_stacks *stacks,
                 int inside, struct berth_err *err)
{
    char text[BERTH_TALK_SIZE];
    enum berth_talk_kind kind;

    do {
        if (berth_talk_receive(inside, 0, &kind, text, err) < 0)
            return -1;
        if ((kind == BERTH_TALK_STAGE
                 ? stage(stacks, text, inside, err)
                 : berth_talk_send(order->talk, kind, text, err)) < 0)
            return -1;
    } while (kind != BERTH_TALK_DONE && kind != BERTH_TALK_REFUSED);
    return 0;
}

static void go_inside(const struct order *order, const struct berth_stacks *stacks,
                      int talk)
{
    const char *directory = order->task.words.items[2];
    struct berth_inside inside = {
        .holder = atoi(order->task.words.items[0]),
        .request = &order->request,
        .command = order->container.words.items,
        .directory = *directory ? directory : NULL,
        .task = order->task.environment.items,
        .stacks = stacks,
        .talk = talk,
    };

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    environ = order->container.environment.items;
    berth_inside_run(&inside);
}

static int run(const struct order *order, struct berth_err *err)
{
    static char *const nothing[] = {NULL};
    struct berth_stacks stacks = {0};
    char *const *environment = order->task.environment.items;
    int ends[2];
    int result;
    pid_t child;

    if ((!berth_request_mpi_is(&order->request, BERTH_MPI_HYBRID) &&
         berth_stacks_find(environment ? environment : nothing, &stacks, err) < 0) ||
        berth_talk_open(ends, err) < 0)
        return -1;
    child = fork();
    if (child == 0) {
        close(ends[0]);
        go_inside(order, &stacks, ends[1]);
        _exit(EXIT_SUCCESS);
    }
    close(ends[1]);
    if (child < 0)
        return berth_err_set(err, "cannot start a process: %s", strerror(errno));
    result = serve(order, &stacks, ends[0], err);
    close(ends[0]);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return result;
}

int main(int argc, char **argv)
{
    static struct order order = {.talk = -1};
    struct berth_err err;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read_order(argc, argv, &order, &err) == 0 && run(&order, &err) == 0)
        return EXIT_SUCCESS;
    if (order.talk >= 0)
        berth_talk_send(order.talk, BERTH_TALK_REFUSED, err.text, NULL);
    else
        fprintf(stderr, "berth-mpi: %s\n", err.text);
    return EXIT_FAILURE;
}
