/* SPDX-License-Identifier: Apache-2.0 */
/* Does the work of slurmstepd for one task: writes the order for berth-start, and
 * starts a small process that ends the container when the task ends. */

#include "run/standalone.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/detach.h"
#include "base/environ.h"
#include "base/installed.h"
#include "plan/launch.h"
#include "plan/order.h"
#include "step/processes.h"
#include "step/program.h"
#include "step/rendezvous.h"

extern char **environ;

/* The variables with the rank of a process: of the mpirun of Hydra (MPICH, Intel MPI,
 * MVAPICH), Open MPI, PRRTE and PALS, and last that of Slurm. */
static const char *const ranks[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                    "PALS_RANKID", "SLURM_PROCID"};

enum { LAUNCHERS = sizeof(ranks) / sizeof(*ranks), SLURM = LAUNCHERS - 1 };

/* Returns the rank that the first COUNT variables give this process; NULL: none. */
static const char *rank_of(char *const *environment, int count)
{
    const char *rank = NULL;

    for (int i = 0; i < count && !rank; i++)
        rank = berth_environ_value(environment, ranks[i]);
    return rank;
}

static bool is_of_mpirun(char *const *environment)
{
    return rank_of(environment, SLURM);
}

bool berth_standalone_is_first(void)
{
    const char *rank = rank_of(environ, LAUNCHERS);

    return !rank || strcmp(rank, "0") == 0;
}

struct watch {
    pid_t pid; /* the process with which the container ends */
    int alive; /* the end of the sockets whose close ends the container */
};

static void watch(void *data)
{
    enum { LOOK_AGAIN_MS = 1000 }; /* where the kernel has no pidfd */
    const struct watch *it = data;
    struct pollfd end = {.events = POLLIN};

    if (berth_detach(&it->alive, 1, NULL) < 0)
        return;
    end.fd = berth_process_open(it->pid);
    while (!end.revents && kill(it->pid, 0) == 0)
        poll(&end, 1, LOOK_AGAIN_MS);
}

/* Start the process that holds the rendezvous; it is not a child of the program that
 * this process becomes. */
static int start_watch(struct berth_rendezvous *rendezvous, struct berth_err *err)
{
    struct watch it = {getpid(), rendezvous->alive};
    int result = berth_detach_run(watch, NULL, &it, err);

    close(rendezvous->alive); /* the watch has it */
    return result;
}

/* List the variables of REQUEST. If an mpirun has started this process, variables for
 * its MPI library come before those that the user asks for. */
static void list_variables(const struct berth_request *request,
                           struct berth_strvec *ret)
{
    if (is_of_mpirun(environ) && !berth_request_starts_mpirun(request))
        berth_launch_apart(environ, ret);
    berth_strvec_append(ret, &request->env);
}

static int make_rendezvous(const struct berth_site *site, struct berth_order *order,
                           struct berth_err *err)
{
    struct berth_rendezvous rendezvous;

    if (berth_rendezvous_make(&rendezvous, 1, err) < 0 ||
        start_watch(&rendezvous, err) < 0)
        return -1;
    berth_rendezvous_configure(&rendezvous, site->runtime.start_timeout,
                               berth_site_why_apart(site));
    order->container.tasks = 1;
    order->memory = rendezvous.memory;
    order->tasks = rendezvous.tasks;
    order->ended = rendezvous.ended;
    return 0;
}

int berth_standalone_prepare(const struct berth_standalone *standalone,
                             struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec asked = {0};
    BERTH_STRVEC struct berth_strvec variables = {0};
    BERTH_BUF struct berth_buf text = {0};
    struct berth_order order = BERTH_ORDER_EMPTY; /* borrows */

    list_variables(standalone->asked, &asked);
    list_variables(standalone->request, &variables);
    if (asked.failed || variables.failed)
        return berth_err_oom(err);
    order.asked = *standalone->asked;
    order.asked.env = asked;
    order.request = *standalone->request;
    order.request.env = variables;
    order.terms = *standalone->terms;
    order.step.prints_component = order.step.prints_step = berth_standalone_is_first();
    order.runtime = standalone->site->runtime.path;
    if (make_rendezvous(standalone->site, &order, err) < 0 ||
        berth_order_put(&order, &text, err) < 0)
        return -1;
    return setenv(BERTH_TASK_ORDER, text.text, 1) < 0 ? berth_err_oom(err) : 0;
}

int berth_standalone_become(char *const *command, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    const char *program = berth_installed(BERTH_LIBEXECDIR "/berth-start");

    berth_strvec_push(&words, "berth-start");
    for (; *command; command++)
        berth_strvec_push(&words, *command);
    if (words.failed)
        return berth_err_oom(err);
    execv(program, words.items);
    return berth_program_missing(program, err);
}
