/* SPDX-License-Identifier: Apache-2.0 */
/* berth run: runs a command in an image as a task of srun runs, without the plugin.
 * berth explain: prints what berth run would do, and why; runs nothing.
 *
 * Does the work of slurmstepd for one task: writes the order for berth-task, from what
 * Slurm's variables say about the step. In a step of srun the tasks meet
 * (run/taskclient.h); elsewhere each process has a container for itself, and so has
 * each rank of an mpirun. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/host.h"
#include "cli/request.h"
#include "plan/launch.h"
#include "request/bundle.h"
#include "request/misnamed.h"
#include "request/mpirun.h"
#include "request/script.h"
#include "request/wire.h"
#include "run/taskclient.h"
#include "run/task.h"
#include "site/policy.h"
#include "site/rules.h"
#include "image/lookup.h"
#include "image/policyfacts.h"
#include "container/become.h"
#include "ipc/report.h"
#include "ipc/stepmark.h"

extern char **environ;

/* The task. */
static struct {
    struct berth_site site;
    const struct berth_request *asked; /* by the user */
    char **command;                    /* words, ended by NULL */
    bool is_step;                      /* it is one of a step */
    bool is_container;                 /* of Slurm's own --container (berth-oci) */
    const char *script;                /* the command is this batch script; NULL: no */
    /* Set by meet(): */
    struct berth_order order; /* the step, the container, and its descriptors */
    struct berth_rendezvous rendezvous;
    bool leads; /* it starts the container, or must call berth_rendezvous_fail() */
} own = {.order = BERTH_ORDER_EMPTY};

/* The variables with the rank of a process: of the mpirun of Hydra (MPICH, Intel MPI,
 * MVAPICH), Open MPI, PRRTE and PALS, and last that of Slurm. */
static const char *const ranks[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                    "PALS_RANKID", "SLURM_PROCID"};

enum { LAUNCHERS = sizeof(ranks) / sizeof(*ranks), SLURM = LAUNCHERS - 1 };

/* Returns the rank that the first COUNT variables give this process; NULL: none. */
static const char *rank_of(int count)
{
    for (int i = 0; i < count; i++) {
        const char *rank = getenv(ranks[i]);

        if (rank)
            return rank;
    }
    return NULL;
}

/* Is this process, or one above it, in a task of a step, whose rank is RANK? */
static bool is_below_step(const char *rank)
{
    enum { FIRST_SPECIAL = 0xfffffff0 }; /* SLURM_BATCH_SCRIPT and others, slurm.h */
    const char *step = getenv("SLURM_STEP_ID");

    return step && strtoul(step, NULL, 10) < FIRST_SPECIAL && getenv("SLURM_JOB_ID") &&
           getenv("SLURM_GTIDS") && rank;
}

/* Is this process in a task of a step, and not a rank of an mpirun there? Slurm's own
 * process managers give a task its rank in the step, and the size of the step; the name
 * space of its PMIx says whose it is. */
static bool is_in_step(void)
{
    const char *rank = getenv(ranks[SLURM]);
    const char *inner = rank_of(SLURM);
    const char *tasks = getenv("SLURM_NTASKS");
    const char *size = getenv("PMI_SIZE");
    const char *space = getenv("PMIX_NAMESPACE");

    if (!is_below_step(rank))
        return false;
    if (getenv("OMPI_COMM_WORLD_RANK"))
        return false;
    if (inner && strcmp(inner, rank) != 0)
        return false;
    if (size && tasks && strcmp(size, tasks) != 0)
        return false;
    return !space || berth_text_starts(space, "slurm.pmix.");
}

/* Tasks with the same key share a container: those with the same options, directory and
 * variables by which the runtime, or the host's MPI, is another one. With --mpi-bind,
 * one program is judged for a container, so that each word of the command counts. */
static int make_key(uint64_t *ret, struct berth_err *err)
{
    static const char *const starts[] = {
        "APPTAINER",        "SINGULARITY",     "HOME=",       "PATH=",
        "LD_LIBRARY_PATH=", "CRAY_MPICH_DIR=", "I_MPI_ROOT=", "MPI_HOME=",
        "MPICH_DIR=",       "OPAL_PREFIX=",    NULL};
    BERTH_FREE char *directory = getcwd(NULL, 0);
    BERTH_BUF struct berth_buf text = {0};
    bool has_words = !own.asked->image || /* the words are wrong */
                     berth_request_looks_inside(own.asked) ||
                     berth_policy_may_set_mpi(&own.site);

    berth_wire_put_request(&text, own.asked);
    berth_buf_addf(&text, "\n%s\n", directory ? directory : "");
    for (char *const *word = own.command; has_words && *word; word++)
        berth_buf_addf(&text, "%s\n", *word);
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

/* Has a slurmstepd of this host a socket named NODE_JOB.STEP and then REST
 * (spank/stepd.h)? STEP is that of this task. */
static bool has_stepd(unsigned long job, const char *rest)
{
    enum { MOST = 4 << 20 };
    BERTH_BUF struct berth_buf sockets = {0};
    char name[64];

    snprintf(name, sizeof(name), "_%lu.%u%s", job, number_of("SLURM_STEP_ID"), rest);
    return berth_fd_read_path("/proc/net/unix", MOST, &sockets) == 0 && sockets.text &&
           strstr(sockets.text, name);
}

/* Has the step several components? In a het job a variable says so, in a het step of
 * one allocation only the name of slurmstepd's socket, which ends in their number. */
static bool has_components(void)
{
    return getenv("SLURM_HET_SIZE") || has_stepd(number_of("SLURM_JOB_ID"), ".");
}

/* The job of the component GROUP of a het job; 0: there is none. */
static unsigned int job_of_group(int group)
{
    static const char *const formats[] = {"SLURM_JOB_ID_HET_GROUP_%d",
                                          "SLURM_JOB_ID_PACK_GROUP_%d"};

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        char name[64];
        unsigned int job;

        snprintf(name, sizeof(name), formats[i], group);
        job = number_of(name);
        if (job > 0)
            return job;
    }
    return 0;
}

/* The het group of this task's component, whose slurmstepd is on this host; -1: none.
 * SLURM_JOB_ID is that of the first component in all of them. */
static int find_group(void)
{
    if (!own.is_step)
        return -1;
    for (int group = 0; group <= BERTH_GROUP_MAX; group++) {
        unsigned int job = job_of_group(group);

        if (job == 0)
            return -1;
        if (has_stepd(job, "\n"))
            return group;
    }
    return -1;
}

/* A batch script is the only process of a step of its own. */
static void describe_script(struct berth_order_step *step)
{
    step->nodes = step->tasks = 1;
    step->prints_step = step->prints_component = step->is_first = true;
}

/* Fill what Slurm tells each task. All numbers go through all components, and nothing
 * tells which node is the first of a later one: each node explains. */
static void describe_step(struct berth_order_step *step)
{
    const char *place = own.is_step ? getenv("SLURM_NODEID") : rank_of(LAUNCHERS);
    bool is_first_place = !place || strcmp(place, "0") == 0;

    if (own.script) {
        describe_script(step);
        return;
    }
    step->prints_step = is_first_place;
    step->prints_component = is_first_place;
    if (!own.is_step)
        return;
    step->nodes = number_of("SLURM_STEP_NUM_NODES");
    step->tasks = number_of("SLURM_STEP_NUM_TASKS");
    step->is_several = has_components();
    step->is_first = own.leads && (step->prints_component || step->is_several);
}

/* Meet the other tasks of the step, if there are any. The container ends with the
 * processes in it, also after exec. */
static int meet(struct berth_err *err)
{
    const char *node = getenv(BERTH_TASK_NODE);
    struct berth_taskclient task = {.is_step = own.is_step,
                                    .rank = number_of(ranks[SLURM]),
                                    .limit = own.site.runtime.start_timeout,
                                    .forbidden = berth_site_why_apart(&own.site),
                                    .node = node ? node : "this host"};

    if (make_key(&task.key, err) < 0 ||
        berth_taskclient_join(&task, &own.order, err) < 0)
        return -1;
    own.rendezvous = berth_task_rendezvous(&(struct berth_task){.order = own.order});
    if (berth_rendezvous_map(&own.rendezvous, err) < 0)
        return -1;
    own.leads = berth_rendezvous_reserve(&own.rendezvous);
    describe_step(&own.order.step);
    return 0;
}

/* List the variables of REQUEST. If an mpirun has started this process, variables that
 * tell its MPI library that the other ranks are in containers of their own come before
 * those that the user asks for. */
static void list_variables(const struct berth_request *request,
                           struct berth_strvec *ret)
{
    if (!own.is_step && rank_of(SLURM) && !berth_request_starts_mpirun(request))
        berth_launch_apart(environ, ret);
    berth_strvec_append(ret, &request->env);
}

/* The number of tasks with this request, as far as this node knows. */
static unsigned int count_tasks(const struct berth_order *order)
{
    const struct berth_order_container *container = &order->container;

    bool has_others =
        order->step.is_several || container->others > 0 || container->hosts > 0;

    return has_others ? container->tasks : order->step.tasks;
}

/* Fill ORDER, which borrows everything, for REQUEST, which the site has made of what
 * the user asks for, with TERMS of the site. ASKED and VARIABLES are the variables of
 * what the user asks for and of REQUEST. */
static void fill_order(const struct berth_request *request,
                       const struct berth_terms *terms,
                       const struct berth_strvec *asked,
                       const struct berth_strvec *variables, struct berth_order *order)
{
    *order = own.order;
    order->asked = *own.asked;
    order->asked.env = *asked;
    order->request = *request;
    order->request.env = *variables;
    /* tasks in other containers do not see what is chosen here */
    if (berth_request_mpi_is(&order->request, BERTH_MODE_AUTO) &&
        (order->step.is_several || order->container.others > 0))
        order->request.world = BERTH_WORLD_HOST;
    if (berth_request_mpi_is(&order->request, BERTH_MODE_LAUNCH) && !own.script)
        order->step.nodes = 0; /* of the job, whose variables only srun has */
    if (own.script && !berth_request_starts_mpirun(&order->request))
        order->request.mpi = NULL; /* is for the steps of the script */
    order->script = (char *)own.script;
    order->terms = *terms;
    order->runtime = own.site.runtime.path;
    order->container.has_spaces = berth_request_is_apart(request, environ);
}

/* Check what needs the number of tasks, and warn of what may be meant. */
static int check_order(const struct berth_order *order, struct berth_err *err)
{
    const char *program = *own.command ? *own.command : "";
    const unsigned int tasks = count_tasks(&own.order);
    struct berth_err warning;

    if (berth_order_het_step(&order->step, environ) &&
        !berth_request_starts_mpirun(&order->request) &&
        berth_mpirun_check_mpi_type(getenv("SLURM_MPI_TYPE"), "", err) < 0)
        return -1;
    if (berth_mpirun_check_tasks(&order->request, tasks, err) < 0 ||
        berth_mpirun_check_command(&order->request, tasks, program, err) < 0)
        return -1;
    if (order->step.is_first &&
        berth_mpirun_is_repeated(&order->request, tasks, program, &warning))
        fprintf(stderr, "berth: %s\n", warning.text);
    return 0;
}

/* Become COMMAND on the host, for --container-image=none. */
static int run_on_host(char **command)
{
    struct berth_err err;
    int status = berth_become_on_host(command, &err);

    berth_err_at(&err, "run");
    berth_cli_fail(&err);
    return status;
}

static void warn_misnamed(void)
{
    struct berth_err sentence;

    for (char **variable = environ; *variable; variable++)
        if (berth_misnamed_is(*variable, &sentence))
            fprintf(stderr, "berth: warning: %s\n", sentence.text);
}

/* Print what a rule of the site replaces, what has no effect, and, in a step, what only
 * the plugin can do. */
static void print_notes(const struct berth_site_asker *asker)
{
    const struct berth_order_step *step = &own.order.step;
    BERTH_STRVEC struct berth_strvec sentences = {0};

    if (!own.leads || !step->prints_step)
        return;
    warn_misnamed();
    berth_rules_report(&own.site, &asker->job, own.asked, &sentences);
    berth_request_note_ignored(own.asked, &sentences);
    if (berth_request_has_job_lifetime(own.asked) && !own.script)
        berth_strvec_push(&sentences,
                          "--container-lifetime=job: only steps of srun use a "
                          "container again; this one ends with its command");
    /* Slurm gives a script HOME, unless slurmrestd has submitted it without. */
    if (step->nodes && !own.script && !getenv("HOME"))
        berth_strvec_push(&sentences,
                          "--export=NONE has dropped the environment, and only the "
                          "plugin restores it; MPI may need FI_*, UCX_*, MPICH_*, "
                          "OMPI_MCA_*, I_MPI_* and OMP_*: write srun --export=ALL");
    if (step->is_several && own.is_container)
        berth_strvec_push(&sentences,
                          "Slurm gives the last --container to all components of this "
                          "step; only the plugin gives each its own");
    else if (step->is_several)
        berth_strvec_push(&sentences,
                          "only the plugin compares the components of this step; give "
                          "--mpi-bind to all of them, or to none");
    for (size_t i = 0; i < sentences.count; i++)
        fprintf(stderr, "berth: note: %s\n", sentences.items[i]);
}

/* Refuse to start a container in a container. */
static int check_host(struct berth_err *err)
{
    const char *image = getenv("APPTAINER_CONTAINER");

    if (!image)
        image = getenv("SINGULARITY_CONTAINER");
    if (!image || access("/.singularity.d", F_OK) < 0)
        return 0;
    return berth_err_set(err,
                         "run: this process is in the image '%s'; leave out "
                         "--container-image of srun, or `berth run`",
                         image);
}

/* Does this task only join the container that another one starts? */
static bool is_follower(void)
{
    return !own.leads && !berth_request_is_explained(own.asked);
}

/* Do REQUEST, as the site allows it, on TERMS: become the command. Returns as
 * berth_task_run_order(). */
static int become_task(const struct berth_request *request,
                       const struct berth_terms *terms,
                       const struct berth_site_asker *asker, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec asked = {0};
    BERTH_STRVEC struct berth_strvec variables = {0};
    struct berth_task task = {.order = BERTH_ORDER_EMPTY};

    list_variables(own.asked, &asked);
    list_variables(request, &variables);
    if (asked.failed || variables.failed)
        return berth_err_oom(err);
    fill_order(request, terms, &asked, &variables, &task.order);
    /* late tasks of a round count more of them than the first */
    if (!is_follower() && check_order(&task.order, err) < 0)
        return -1;
    print_notes(asker);
    /* the word before the command is overwritten */
    return berth_task_run_order(&task, own.command - 1, err);
}

/* Apply the site's policy to REQUEST and do as berth-task. Each task makes its own
 * order: nothing that another process has written says which runtime it starts, in
 * which image, or on which terms. Returns as berth_task_run_order(). */
static int run_task(struct berth_request *request, struct berth_err *err)
{
    BERTH_REQUEST struct berth_request allowed = {0};
    BERTH_TERMS struct berth_terms terms = {0};
    const struct berth_site_asker asker = {
        .job = berth_rules_job_of(environ, find_group()),
        .environment = environ,
    };

    /* the task that leads has then pulled the image, or has said what is wrong */
    if (is_follower() &&
        berth_rendezvous_wait(&own.rendezvous, err) == BERTH_RENDEZVOUS_FAILED)
        return -1;
    if (check_host(err) < 0 || berth_lookup_word(&own.site, request, err) < 0 ||
        berth_policy_check_early(&own.site, request, environ, err) < 0 ||
        berth_cli_fetch(request, &own.site, err) < 0 ||
        berth_apply_site(&own.site, &asker, request, &allowed, &terms, err) < 0)
        return -1;
    return become_task(&allowed, &terms, &asker, err);
}

/* May this task print why it fails? Tasks that did not meet leave it to the first one.
 */
static bool prints(void)
{
    const char *local = NULL;

    if (own.order.report >= 0)
        return berth_report_claim(own.order.report);
    if (own.is_step)
        local = getenv("SLURM_LOCALID");
    return !local || strcmp(local, "0") == 0;
}

/* The batch script of the job, if COMMAND is it; NULL: another command. */
static const char *take_script(char *const *command)
{
    const char *named = getenv(BERTH_SCRIPT_VARIABLE);
    bool is_script = named && *command && strcmp(named, *command) == 0;

    unsetenv(BERTH_SCRIPT_VARIABLE);
    return is_script ? *command : NULL;
}

/* Become COMMAND in the image of REQUEST, or explain it. Returns only on failure: the
 * status of the verb. One task of the container prints why. */
static int run_in_image(struct berth_request *request, char **command)
{
    struct berth_err err = {0}, site_error;
    bool is_read = berth_site_read_here(environ, &own.site, &site_error) == 0;
    bool has_met;
    int status = -1;

    own.asked = request;
    own.command = command;
    own.is_step = is_in_step();
    own.script = take_script(command);
    own.is_container = getenv(BERTH_BUNDLE_RUN);
    unsetenv(BERTH_BUNDLE_RUN);
    if (!own.script)
        berth_stepmark_send(getenv("SLURM_JOB_ID"));

    has_met = meet(&err) == 0;
    if (has_met && is_read)
        status = run_task(request, &err);
    else if (has_met)
        err = site_error;
    if (*err.text && has_met && is_follower()) {
        const char *node = getenv(BERTH_TASK_NODE);

        berth_err_at(&err, "%s", node ? node : "this host");
    }
    if (*err.text && prints())
        berth_cli_fail(&err);
    if (own.leads)
        berth_rendezvous_fail(&own.rendezvous, &err);
    berth_site_fini(&own.site);
    return status < 0 ? BERTH_CLI_FAILED : status;
}

/* Read the request and the command. Prints what is wrong with ARGV; in a step, one of
 * the tasks with this command line does. Returns as berth_cli_request(). */
static int read_line(int argc, char **argv, struct berth_request *ret,
                     char ***ret_command)
{
    const struct berth_request nothing = {0};
    struct berth_err err, other;
    int result = berth_cli_request(argc, argv, ret, ret_command, &err);

    if (result != BERTH_CLI_MISUSED)
        return result;
    own.site = berth_site_default();
    own.asked = &nothing;
    own.command = argv;
    own.is_step = is_in_step();
    if (own.is_step && meet(&other) == 0 && !prints())
        return result;
    return berth_cli_misused(&err);
}

int berth_cli_run(int argc, char **argv)
{
    BERTH_REQUEST struct berth_request request = {0};
    char **command;
    int result = read_line(argc, argv, &request, &command);

    if (result != EXIT_SUCCESS)
        return result;
    if (!berth_request_has_container(&request))
        return run_on_host(command);
    return run_in_image(&request, command);
}

/* The form of the output that ARGUMENT of `berth explain` asks for; NULL: none. */
static const char *form_of(const char *argument)
{
    if (argument && strcmp(argument, "--json") == 0)
        return BERTH_EXPLAIN_JSON;
    if (argument && strcmp(argument, "--all") == 0)
        return BERTH_EXPLAIN_EVERYTHING;
    return NULL;
}

int berth_cli_explain(int argc, char **argv)
{
    BERTH_REQUEST struct berth_request request = {0};
    const char *form = form_of(argv[1]);
    struct berth_err err;
    char **command;
    int result;

    if (form) { /* it comes before the options of srun */
        argv[1] = argv[0];
        argv++;
        argc--;
    }
    result = read_line(argc, argv, &request, &command);
    if (result != EXIT_SUCCESS)
        return result;
    if (!form && !berth_request_is_explained(&request))
        form = BERTH_EXPLAIN_TEXT;
    if (form && berth_request_put(&request, BERTH_OPTION_EXPLAIN, form, &err) < 0)
        return berth_cli_fail(&err);
    return run_in_image(&request, command);
}
