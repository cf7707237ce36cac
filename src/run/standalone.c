/* SPDX-License-Identifier: Apache-2.0 */
/* Does the work of slurmstepd for one task: writes the order for berth-task, from what
 * Slurm's variables say about the step. */

#include "run/standalone.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/installed.h"
#include "base/text.h"
#include "plan/launch.h"
#include "request/launcher.h"
#include "request/wire.h"
#include "run/meeting.h"
#include "site/policy.h"
#include "step/program.h"

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

/* Tasks with the same key share a container: those with the same options, directory and
 * variables of the runtime. With --mpi-bind, one program is judged for a container. */
static int make_key(const struct berth_standalone *standalone, uint64_t *ret,
                    struct berth_err *err)
{
    static const char *const starts[] = {"APPTAINER", "SINGULARITY", NULL};
    const struct berth_request *asked = standalone->asked;
    BERTH_FREE char *directory = getcwd(NULL, 0);
    BERTH_BUF struct berth_buf text = {0};
    size_t words = asked->image ? 0 : SIZE_MAX; /* no image: the words are wrong */

    berth_wire_put_request(&text, asked);
    berth_buf_addf(&text, "\n%s\n", directory ? directory : "");
    if (berth_request_looks_inside(asked) || berth_policy_may_set_mpi(standalone->site))
        words = 1;
    for (size_t i = 0; i < words && standalone->command[i]; i++)
        berth_buf_addf(&text, "%s\n", standalone->command[i]);
    for (char *const *it = environ; *it; it++)
        if (berth_text_starts_any(*it, starts))
            berth_buf_addf(&text, "%s\n", *it);
    if (text.failed)
        return berth_err_oom(err);
    *ret = berth_hash(BERTH_HASH_START, text.text, text.used);
    return 0;
}

static unsigned int number_of(const char *variable)
{
    const char *text = getenv(variable);

    return text ? (unsigned int)strtoul(text, NULL, 10) : 0;
}

/* Has the step several components? In a het job a variable says so, in a het step of
 * one allocation only the name of slurmstepd's socket (spank/stepd.h): NODE_JOB.STEP.N.
 */
static bool has_components(void)
{
    enum { MOST = 4 << 20 };
    BERTH_BUF struct berth_buf sockets = {0};
    char name[64];

    if (getenv("SLURM_HET_SIZE"))
        return true;
    snprintf(name, sizeof(name), "_%u.%u.", number_of("SLURM_JOB_ID"),
             number_of("SLURM_STEP_ID"));
    return berth_fd_read_path("/proc/net/unix", MOST, &sockets) == 0 && sockets.text &&
           strstr(sockets.text, name);
}

/* Fill what Slurm tells each task. The numbers of nodes and tasks go through all
 * components. */
static void describe_step(struct berth_order_step *step)
{
    step->nodes = number_of("SLURM_STEP_NUM_NODES");
    step->tasks = number_of("SLURM_STEP_NUM_TASKS");
    step->is_several = has_components();
    step->prints_component = step->prints_step = number_of("SLURM_NODEID") == 0;
}

int berth_standalone_meet(struct berth_standalone *standalone, struct berth_err *err)
{
    const struct berth_site *site = standalone->site;
    const char *node = getenv(BERTH_TASK_NODE);
    const char *rank = rank_of(environ, LAUNCHERS);
    struct berth_meeting meeting = {.limit = site->runtime.start_timeout,
                                    .forbidden = berth_site_why_apart(site),
                                    .node = node ? node : "this host"};
    struct berth_order *order = &standalone->order;

    *order = (struct berth_order)BERTH_ORDER_EMPTY;
    standalone->is_first = !rank || strcmp(rank, "0") == 0;
    order->step.prints_component = order->step.prints_step = standalone->is_first;
    if (berth_meeting_is_step())
        describe_step(&order->step);
    return make_key(standalone, &meeting.key, err) < 0
               ? -1
               : berth_meeting_join(&meeting, order, err);
}

/* List the variables of REQUEST. If an mpirun has started this process, variables for
 * its MPI library come before those that the user asks for. */
static void list_variables(const struct berth_request *request,
                           struct berth_strvec *ret)
{
    if (rank_of(environ, SLURM) && !berth_meeting_is_step() &&
        !berth_request_starts_mpirun(request))
        berth_launch_apart(environ, ret);
    berth_strvec_append(ret, &request->env);
}

/* Tasks in other containers do not see what --mpi-bind=auto chooses here. */
static enum berth_world world_of(const struct berth_order *order)
{
    return berth_request_mpi_is(&order->request, BERTH_MODE_AUTO) &&
                   (order->step.is_several || order->container.others > 0)
               ? BERTH_WORLD_HOST
               : BERTH_WORLD_ALONE;
}

/* The number of tasks with this request, as far as this node knows. */
static unsigned int count_tasks(const struct berth_order *order)
{
    const struct berth_order_container *container = &order->container;

    return order->step.is_several || container->others || container->hosts
               ? container->tasks
               : order->step.tasks;
}

int berth_standalone_prepare(const struct berth_standalone *standalone,
                             struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec asked = {0};
    BERTH_STRVEC struct berth_strvec variables = {0};
    BERTH_BUF struct berth_buf text = {0};
    struct berth_order order = standalone->order; /* borrows */
    const char *program = *standalone->command;
    unsigned int tasks = count_tasks(&order);

    list_variables(standalone->asked, &asked);
    list_variables(standalone->request, &variables);
    if (asked.failed || variables.failed)
        return berth_err_oom(err);
    order.asked = *standalone->asked;
    order.asked.env = asked;
    order.request = *standalone->request;
    order.request.env = variables;
    order.request.world = world_of(&order);
    if (berth_request_mpi_is(&order.request, BERTH_MODE_LAUNCH))
        order.step.nodes = 0; /* of the job, whose variables only srun has */
    order.terms = *standalone->terms;
    order.runtime = standalone->site->runtime.path;
    order.container.has_spaces = berth_request_has_namespaces(standalone->request);
    if (berth_order_het_step(&order.step, environ) &&
        !berth_request_starts_mpirun(&order.request) &&
        berth_launcher_check_mpi_type(getenv("SLURM_MPI_TYPE"), "", err) < 0)
        return -1;
    if (berth_launcher_check_tasks(&order.request, tasks, err) < 0 ||
        berth_launcher_check_command(&order.request, tasks, program ? program : "",
                                     err) < 0 ||
        berth_order_put(&order, &text, err) < 0)
        return -1;
    return setenv(BERTH_TASK_ORDER, text.text, 1) < 0 ? berth_err_oom(err) : 0;
}

int berth_standalone_become(const struct berth_standalone *standalone,
                            struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    const char *program = berth_installed(BERTH_LIBEXECDIR "/berth-task");

    berth_strvec_push(&words, "berth-task");
    for (char *const *word = standalone->command; *word; word++)
        berth_strvec_push(&words, *word);
    if (words.failed)
        return berth_err_oom(err);
    execv(program, words.items);
    return berth_program_missing(program, err);
}
