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
#include "base/hash.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/host.h"
#include "cli/output.h"
#include "cli/request.h"
#include "cli/slurmtask.h"
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
#include "container/runtime.h"
#include "ipc/report.h"
#include "ipc/stepmark.h"

extern char **environ;

/* The task that this process is. */
static struct {
    struct berth_site site;
    const struct berth_request *asked; /* by the user */
    char **command;                    /* ended by NULL */
    bool is_step;                      /* it is one of a step */
    bool is_container;                 /* of Slurm's own --container (berth-oci) */
    bool has_color;                    /* what explains it is printed in colours */
    const char *script;                /* the command is this batch script; NULL: no */
    /* Set by meet(): */
    struct berth_order order; /* the step, the container, and its descriptors */
    struct berth_rendezvous rendezvous;
    bool leads; /* it starts the container, or must call berth_rendezvous_fail() */
} self = {.order = BERTH_ORDER_EMPTY};

/* Do tasks with another command need another container? With --mpi-bind, one program is
 * judged for a container. Without an image, the arguments are wrong, and each command
 * has its own error. */
static bool key_has_command(void)
{
    return !self.asked->image || berth_request_looks_inside(self.asked) ||
           berth_policy_may_set_mpi(&self.site);
}

/* Tasks with the same key share a container: those with the same options, directory and
 * variables by which the runtime, or the host's MPI, is another one. */
static int make_key(uint64_t *ret, struct berth_err *err)
{
    static const char *const starts[] = {
        "APPTAINER",        "SINGULARITY",     "HOME=",       "PATH=",
        "LD_LIBRARY_PATH=", "CRAY_MPICH_DIR=", "I_MPI_ROOT=", "MPI_HOME=",
        "MPICH_DIR=",       "OPAL_PREFIX=",    NULL};
    BERTH_FREE char *directory = getcwd(NULL, 0);
    BERTH_BUF struct berth_buf text = {0};

    berth_wire_put_request(&text, self.asked);
    berth_buf_addf(&text, "\n%s\n", berth_text_or(directory, ""));
    if (key_has_command())
        for (char *const *argument = self.command; *argument; argument++)
            berth_buf_addf(&text, "%s\n", *argument);
    for (char *const *variable = environ; *variable; variable++)
        if (berth_text_starts_any(*variable, starts))
            berth_buf_addf(&text, "%s\n", *variable);

    if (text.failed)
        return berth_err_oom(err);
    *ret = berth_hash(BERTH_HASH_START, text.text, text.used);
    return 0;
}

/* A batch script is the only process of a step of its own. */
static void describe_script(struct berth_order_step *step)
{
    step->nodes = 1;
    step->tasks = 1;
    step->prints_step = true;
    step->prints_component = true;
    step->is_first = true;
}

/* Fill what Slurm tells each task. All numbers go through all components, and nothing
 * tells which node is the first of a later one: each node explains. */
static void describe_task(struct berth_order_step *step)
{
    const bool is_on_first_node = berth_slurmtask_is_on_first_node();

    step->prints_step = is_on_first_node;
    step->prints_component = is_on_first_node;
    step->nodes = berth_slurmtask_nodes();
    step->tasks = berth_slurmtask_tasks();
    step->is_several = berth_slurmtask_has_components();
    step->is_first = self.leads && (is_on_first_node || step->is_several);
}

/* A process outside of a step may still be a rank of an mpirun. */
static void describe_rank(struct berth_order_step *step)
{
    const bool is_first_rank = berth_slurmtask_is_first_rank();

    step->prints_step = is_first_rank;
    step->prints_component = is_first_rank;
}

static void describe_step(struct berth_order_step *step)
{
    step->has_color = self.has_color;
    if (self.script)
        describe_script(step);
    else if (self.is_step)
        describe_task(step);
    else
        describe_rank(step);
}

/* Meet the other tasks of the step, if there are any. The container ends with the
 * processes in it, also after exec. */
static int meet(struct berth_err *err)
{
    struct berth_taskclient task = {.is_step = self.is_step,
                                    .rank = berth_slurmtask_rank(),
                                    .limit = self.site.runtime.start_timeout,
                                    .forbidden = berth_site_why_separate(&self.site),
                                    .node = berth_slurmtask_node()};

    if (make_key(&task.key, err) < 0)
        return -1;
    if (berth_taskclient_join(&task, &self.order, err) < 0)
        return -1;

    self.rendezvous = berth_task_rendezvous(&(struct berth_task){.order = self.order});
    if (berth_rendezvous_map(&self.rendezvous, err) < 0)
        return -1;
    self.leads = berth_rendezvous_reserve(&self.rendezvous);
    describe_step(&self.order.step);
    return 0;
}

/* Is this process a rank of an mpirun on the host, with a container for itself? */
static bool is_rank_of_mpirun(const struct berth_request *request)
{
    return !self.is_step && berth_slurmtask_has_mpirun_rank() &&
           !berth_request_starts_mpirun(request);
}

/* List the variables of REQUEST. For a rank of an mpirun, variables that tell its MPI
 * library that the other ranks are in containers of their own come before those that
 * the user asks for. */
static void list_variables(const struct berth_request *request,
                           struct berth_strvec *ret)
{
    if (is_rank_of_mpirun(request))
        berth_launch_separate(environ, ret);
    berth_strvec_append(ret, &request->env);
}

/* Are there tasks of the step outside of the container of ORDER, as far as this node
 * knows? */
static bool has_other_tasks(const struct berth_order *order)
{
    return order->step.is_several || order->container.others > 0 ||
           order->container.hosts > 0;
}

/* The number of tasks with this request, as far as this node knows. */
static unsigned int count_tasks(const struct berth_order *order)
{
    if (has_other_tasks(order))
        return order->container.tasks;
    return order->step.tasks;
}

/* Change how ORDER binds MPI, which depends on what this process can know or has to do.
 */
static void adapt_mpi(struct berth_order *order)
{
    struct berth_request *request = &order->request;
    const bool has_other_containers =
        order->step.is_several || order->container.others > 0;

    /* tasks in other containers do not see what is chosen here */
    if (berth_request_mpi_is(request, BERTH_MODE_AUTO) && has_other_containers)
        request->world = BERTH_WORLD_HOST;

    /* the nodes are those of the job, whose variables only srun has */
    if (berth_request_mpi_is(request, BERTH_MODE_LAUNCH) && !self.script)
        order->step.nodes = 0;

    /* the option is for the steps of the script */
    if (self.script && !berth_request_starts_mpirun(request))
        request->mpi = NULL;
}

/* Fill ORDER, which borrows everything, for REQUEST, which the site has made of what
 * the user asks for, with TERMS of the site. ASKED and VARIABLES are the variables of
 * what the user asks for and of REQUEST. */
static void fill_order(const struct berth_request *request,
                       const struct berth_terms *terms,
                       const struct berth_strvec *asked,
                       const struct berth_strvec *variables, struct berth_order *order)
{
    *order = self.order;
    order->asked = *self.asked;
    order->asked.env = *asked;
    order->request = *request;
    order->request.env = *variables;
    order->script = (char *)self.script;
    /* the job keeps a container with a name, which the steps of the script use, too */
    if (self.script && request->container_name)
        order->job = berth_slurmtask_job();
    order->terms = *terms;
    order->runtime = self.site.runtime.path;
    order->container.has_spaces = berth_request_is_separate(request, environ);
    adapt_mpi(order);
}

/* Do all components of a het step have an --mpi type with which they can meet? */
static int check_mpi_type(const struct berth_order *order, struct berth_err *err)
{
    if (!berth_order_het_step(&order->step, environ))
        return 0;
    if (berth_request_starts_mpirun(&order->request))
        return 0;
    return berth_mpirun_check_mpi_type(getenv("SLURM_MPI_TYPE"), "", err);
}

/* Check what needs the number of tasks, and warn of what may be meant. */
static int check_order(const struct berth_order *order, struct berth_err *err)
{
    const char *program = *self.command ? *self.command : "";
    const unsigned int tasks = count_tasks(&self.order);
    struct berth_err warning;

    if (check_mpi_type(order, err) < 0)
        return -1;
    if (berth_mpirun_check_tasks(&order->request, tasks, err) < 0)
        return -1;
    if (berth_mpirun_check_command(&order->request, tasks, program, err) < 0)
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

/* Has --export=NONE dropped the environment of this task? Slurm gives a script HOME,
 * unless slurmrestd has submitted it without. */
static bool has_lost_environment(const struct berth_order_step *step)
{
    return step->nodes && !self.script && !getenv("HOME");
}

/* Append what only the plugin can do in a step. */
static void note_plugin(const struct berth_order_step *step,
                        struct berth_strvec *sentences)
{
    if (berth_request_has_job_lifetime(self.asked) && !self.script)
        berth_strvec_push(sentences,
                          "--container-lifetime=job: only steps of srun use a "
                          "container again; this one ends with its command");
    if (has_lost_environment(step))
        berth_strvec_push(sentences,
                          "--export=NONE has dropped the environment, and only the "
                          "plugin restores it; MPI may need FI_*, UCX_*, MPICH_*, "
                          "OMPI_MCA_*, I_MPI_* and OMP_*: write srun --export=ALL");
    if (step->is_several && self.is_container)
        berth_strvec_push(sentences,
                          "Slurm gives the last --container to all components of this "
                          "step; only the plugin gives each its own");
    else if (step->is_several)
        berth_strvec_push(sentences,
                          "only the plugin compares the components of this step; give "
                          "--mpi-bind to all of them, or to none");
}

/* Print what a rule of the site replaces, what has no effect, and what only the plugin
 * can do. */
static void print_notes(const struct berth_site_asker *asker)
{
    const struct berth_order_step *step = &self.order.step;
    BERTH_STRVEC struct berth_strvec sentences = {0};

    if (!self.leads || !step->prints_step)
        return;
    warn_misnamed();
    berth_rules_report(&self.site, &asker->job, self.asked, &sentences);
    berth_request_note_ignored(self.asked, &sentences);
    note_plugin(step, &sentences);
    for (size_t i = 0; i < sentences.count; i++)
        fprintf(stderr, "berth: note: %s\n", sentences.items[i]);
}

/* Refuse to start a container in a container. A shell on the host may have inherited
 * the variable of a runtime, but not its directory. */
static int check_host(struct berth_err *err)
{
    const char *image = berth_runtime_image(environ);

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
    return !self.leads && !berth_request_is_explained(self.asked);
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

    list_variables(self.asked, &asked);
    list_variables(request, &variables);
    if (asked.failed || variables.failed)
        return berth_err_oom(err);
    fill_order(request, terms, &asked, &variables, &task.order);

    /* late tasks of a round count more of them than the first */
    if (!is_follower() && check_order(&task.order, err) < 0)
        return -1;
    print_notes(asker);

    /* the argument before the command is overwritten */
    return berth_task_run_order(&task, self.command - 1, err);
}

/* Check REQUEST and this host, and make the image a file: a name of the site's images
 * is looked up, and an image of a registry is pulled. */
static int prepare(struct berth_request *request, struct berth_err *err)
{
    if (check_host(err) < 0)
        return -1;
    if (berth_lookup_word(&self.site, request, err) < 0)
        return -1;
    if (berth_policy_check_early(&self.site, request, environ, err) < 0)
        return -1;
    return berth_cli_fetch(request, &self.site, err);
}

/* Apply the site's policy to REQUEST and do as berth-task. Each task makes its own
 * order: nothing that another process has written says which runtime it starts, in
 * which image, or on which terms. Returns as berth_task_run_order(). */
static int run_task(struct berth_request *request, struct berth_err *err)
{
    BERTH_REQUEST struct berth_request allowed = {0};
    BERTH_TERMS struct berth_terms terms = {0};
    const int group = self.is_step ? berth_slurmtask_group() : -1;
    const struct berth_site_asker asker = {
        .job = berth_rules_job_of(environ, group),
        .environment = environ,
    };

    /* the task that leads has then pulled the image, or has said what is wrong */
    if (is_follower() &&
        berth_rendezvous_wait(&self.rendezvous, err) == BERTH_RENDEZVOUS_FAILED)
        return -1;
    if (prepare(request, err) < 0)
        return -1;
    if (berth_apply_site(&self.site, &asker, request, &allowed, &terms, err) < 0)
        return -1;
    return become_task(&allowed, &terms, &asker, err);
}

/* May this task print why it fails? Tasks that did not meet leave it to the first one.
 */
static bool prints(void)
{
    if (self.order.report >= 0)
        return berth_report_claim(self.order.report);
    return !self.is_step || berth_slurmtask_is_first_on_node();
}

/* The batch script of the job, if COMMAND is it; NULL: another command. */
static const char *take_script(char *const *command)
{
    const char *named = getenv(BERTH_SCRIPT_VARIABLE);
    bool is_script = named && *command && strcmp(named, *command) == 0;

    unsetenv(BERTH_SCRIPT_VARIABLE);
    return is_script ? *command : NULL;
}

/* Set what this task is: that which becomes COMMAND, for which the user asks ASKED. */
static void describe_self(const struct berth_request *asked, char **command)
{
    self.asked = asked;
    self.command = command;
    self.is_step = berth_slurmtask_is_in_step();
    self.script = take_script(command);
    self.is_container = getenv(BERTH_BUNDLE_RUN);
    unsetenv(BERTH_BUNDLE_RUN);
}

/* Print ERR, of a task that HAS_MET the others, if this task is the one that does. */
static void report(struct berth_err *err, bool has_met)
{
    if (!*err->text)
        return;
    if (has_met && is_follower())
        berth_err_at(err, "%s", berth_slurmtask_node());
    if (prints())
        berth_cli_fail(err);
}

/* Become COMMAND in the image of REQUEST, or explain it. Returns only on failure: the
 * status of the verb. One task of the container prints why. */
static int run_in_image(struct berth_request *request, char **command)
{
    struct berth_err err = {0}, site_error;
    bool is_read = berth_site_read_here(environ, &self.site, &site_error) == 0;
    bool has_met;
    int status = -1;

    describe_self(request, command);
    if (!self.script)
        berth_stepmark_send(getenv("SLURM_JOB_ID"));

    /* An error of the site is printed once for a step, so the tasks meet first. */
    has_met = meet(&err) == 0;
    if (has_met && is_read)
        status = run_task(request, &err);
    else if (has_met)
        err = site_error;

    report(&err, has_met);
    if (self.leads)
        berth_rendezvous_fail(&self.rendezvous, &err);
    berth_site_fini(&self.site);
    if (status < 0)
        return BERTH_CLI_FAILED;
    return status;
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
    self.site = berth_site_default();
    self.asked = &nothing;
    self.command = argv;
    self.is_step = berth_slurmtask_is_in_step();
    if (self.is_step && meet(&other) == 0 && !prints())
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

/* How `berth explain` prints. */
struct account {
    struct berth_output output;
    bool is_full;
};

/* Read the options of `berth explain` itself, which come before those of srun. Returns
 * their number, or -1 with a sentence in ERR. */
static int read_account(char **argv, struct account *ret, struct berth_err *err)
{
    int count = 0;

    *ret = (struct account){.output = berth_output_usual()};
    for (char **argument = argv + 1; *argument; argument++) {
        bool is_all = strcmp(*argument, "--all") == 0;
        bool is_taken = is_all;

        if (is_all)
            ret->is_full = true;
        else if (berth_output_take(*argument, &ret->output, &is_taken, err) < 0)
            return -1;
        if (!is_taken)
            break;
        count++;
    }
    return count;
}

/* The value of --container-explain that is asked for; NULL: none. */
static const char *form_of(const struct account *account)
{
    if (account->output.is_json)
        return BERTH_EXPLAIN_JSON;
    if (account->is_full)
        return BERTH_EXPLAIN_EVERYTHING;
    return NULL;
}

int berth_cli_explain(int argc, char **argv)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct account account;
    struct berth_err err;
    const char *form;
    char **command;
    int own_options, result;

    own_options = read_account(argv, &account, &err);
    if (own_options < 0)
        return berth_cli_misused(&err);
    form = form_of(&account);
    self.has_color = account.output.has_color;

    /* The verb, in place of the last of its own options, starts the options of srun. */
    argv[own_options] = argv[0];
    result = read_line(argc - own_options, argv + own_options, &request, &command);
    if (result != EXIT_SUCCESS)
        return result;

    if (!form && !berth_request_is_explained(&request))
        form = BERTH_EXPLAIN_TEXT;
    if (form && berth_request_put(&request, BERTH_OPTION_EXPLAIN, form, &err) < 0)
        return berth_cli_fail(&err);
    return run_in_image(&request, command);
}
