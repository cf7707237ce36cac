/* SPDX-License-Identifier: Apache-2.0 */
/* In slurmstepd: writes the order for a task from the table that srun published, and
 * puts berth-task in front of the command. task_init does nearly all of it: there the
 * process runs as the user, its standard error and its exit status are those of the
 * task, and an error does not drain the node. */

#include "spank/plugin.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "base/cleanup.h"
#include "base/run.h"
#include "base/text.h"
#include "plan/fallback.h"
#include "site/digest.h"
#include "site/plugstack.h"
#include "site/site.h"
#include "request/bundle.h"
#include "request/components.h"
#include "site/policy.h"
#include "plan/order.h"
#include "request/mpirun.h"
#include "request/option.h"
#include "request/multiprog.h"
#include "request/wire.h"
#include "site/rules.h"
#include "site/siteread.h"
#include "spank/batch.h"
#include "spank/options.h"
#include "spank/taskfacts.h"
#include "spank/restore.h"
#include "spank/startjobserver.h"
#include "spank/stepd.h"
#include "spank/variable.h"
#include "image/policyfacts.h"
#include "container/program.h"
#include "ipc/rendezvous.h"
#include "ipc/report.h"

extern char **environ;

/* The state between callbacks, which have no argument for it. Tasks inherit it. */
static struct {
    struct berth_settings settings;
    struct berth_where where; /* the component; found once, because that reads all
                                 descriptors of slurmstepd */
    struct berth_site site;
    struct berth_err
        error;  /* an error in plugstack.conf or berth.yaml; text "": none */
    int report; /* descriptor of ipc/report.h for this task, one of reports;
                   -1: none */
    int reports[BERTH_CONTAINERS_MAX + 1]; /* one for each container, and one for the
                                              tasks on the host after them */
    unsigned int containers;               /* of the step */
    struct berth_rendezvous rendezvous;    /* page NULL: there is none, */
    struct berth_err no_rendezvous;        /* for this reason */
    uint32_t ended;                        /* the number of tasks that have ended */
    bool is_forked;                        /* the first task is */
    bool is_reported;                      /* the loss of the container is */
    bool is_noted;                         /* the loss of LD_LIBRARY_PATH is */
    char submitted[300];                   /* BERTH_SITE_VARIABLE; "": it is not set */
    bool is_unlike; /* this node decides otherwise about MPI than the host of srun */
} shared = {.report = -1};

/* The table has the options of each component; Slurm sends only the last value of each.
 */
static int ignore_option(int id, const char *value, int remote)
{
    (void)id;
    (void)value;
    (void)remote;
    return 0;
}

int berth_remote_init(spank_t sp, int count, char **arguments)
{
    berth_settings_read(count, arguments, &shared.settings, &shared.error);
    berth_options_register(sp, shared.settings.option_prefix, NULL, ignore_option);
    return 0;
}

/* Is this a step of srun that berth has published a table for? Batch, extern and
 * interactive steps have numbers above these (SLURM_BATCH_SCRIPT, slurm.h). */
static bool is_ours(spank_t sp)
{
    uint32_t step;

    return spank_get_item(sp, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
           step < 0xfffffff0 && berth_variable_is_set(sp, BERTH_STEP_VARIABLE);
}

/* Keep an error for the tasks in images; tasks on the host do not need berth.yaml. */
static void read_site(void)
{
    shared.site = berth_site_default();
    if (!*shared.error.text)
        berth_site_read(shared.settings.config, berth_site_owner(), &shared.site,
                        &shared.error);
}

/* A number, so that root does not parse a longer text of the user's. */
static unsigned int count_containers(spank_t sp)
{
    char text[16] = "1";
    int count;

    spank_getenv(sp, BERTH_CONTAINERS_VARIABLE, text, sizeof(text));
    count = atoi(text);
    if (count < 1 || count > BERTH_CONTAINERS_MAX)
        return 1;
    return (unsigned int)count;
}

int berth_remote_open(spank_t sp)
{
    uint32_t tasks = 0;

    if (berth_batch_is(sp))
        berth_batch_open(sp);
    if (!is_ours(sp))
        return 0;
    spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &tasks);
    berth_stepd_reserve(tasks);
    shared.containers = count_containers(sp);
    for (unsigned int i = 0; i <= shared.containers; i++)
        shared.reports[i] = berth_report_open();
    shared.report = shared.reports[0];
    berth_rendezvous_make(&shared.rendezvous, shared.containers, &shared.no_rendezvous);
    return 0;
}

int berth_remote_step(spank_t sp)
{
    if (!is_ours(sp))
        return 0;
    read_site();
    shared.where = berth_stepd_where(sp);
    if (shared.rendezvous.page)
        berth_rendezvous_configure(&shared.rendezvous,
                                   shared.site.runtime.start_timeout,
                                   berth_site_why_separate(&shared.site));
    return 0;
}

/* May the job keep containers? As root, reads a few bytes of the user's only. */
static bool may_keep_containers(spank_t sp)
{
    char lifetime[8] = "";

    if (berth_batch_is(sp))
        return berth_batch_keeps(sp);
    spank_getenv(sp, BERTH_LIFETIME_VARIABLE, lifetime, sizeof(lifetime));
    return berth_policy_may_last_job(&shared.site, berth_text_given(lifetime));
}

int berth_remote_forked(spank_t sp)
{
    const bool is_step_with_images = shared.rendezvous.page;

    if (shared.is_forked || (!is_step_with_images && !berth_batch_is(sp)))
        return 0;
    shared.is_forked = true;
    if (may_keep_containers(sp))
        berth_startjobserver(sp);
    return 0;
}

static const char *node_name(void)
{
    static char node[256] = "this node";

    gethostname(node, sizeof(node) - 1);
    return node;
}

static void log_note(struct berth_err *note)
{
    berth_spell_options(shared.settings.option_prefix, note);
    slurm_spank_log("berth: %s: %s", node_name(), note->text);
}

/* A task ended with STATUS. The loader ends a program with 127 that lacks a library. */
static void note_dropped(int status)
{
    enum { NOT_LOADED = 127 };
    const struct berth_rendezvous_node *node = shared.rendezvous.node;
    struct berth_err note;

    if (shared.is_noted || !node->has_dropped || node->has_refused)
        return;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != NOT_LOADED)
        return;
    shared.is_noted = true;
    berth_err_set(&note,
                  "note: LD_LIBRARY_PATH of the host is not passed to the image; if a "
                  "library is missing, write --container-env=LD_LIBRARY_PATH");
    log_note(&note);
}

/* The only task, an mpirun without --mpi-bind, ended with STATUS. Open MPI's
 * counts one slot there ("not enough slots"). */
static void note_mpirun(int status)
{
    const struct berth_rendezvous_node *node = shared.rendezvous.node;
    struct berth_err note;

    if (status == 0 || !node->has_mpirun || node->has_refused)
        return;
    berth_err_set(&note, "note: an mpirun in one task has the slots of that task; give "
                         "--mpi-bind=local for the CPUs of the task on this node, or "
                         "--mpi-bind=launch for the nodes of the job");
    log_note(&note);
}

/* The last task has ended. A file that is only touched disturbs no task. */
static void end_step(void)
{
    berth_rendezvous_close(&shared.rendezvous);
    if (shared.rendezvous.node->has_failed && shared.rendezvous.node->is_changed)
        slurm_spank_log("berth: %s: an image file was changed while the step ran; "
                        "replace it with mv, not with cp, and submit the step again",
                        node_name());
}

/* Say once that the container ended before its tasks, maybe a moment after one. */
static void note_lost_container(void)
{
    if (shared.is_reported || !shared.rendezvous.node->has_failed)
        return;
    if (!berth_rendezvous_is_any_lost(&shared.rendezvous))
        return;
    shared.is_reported = true;
    slurm_spank_log("berth: %s: " BERTH_RENDEZVOUS_DIED, node_name());
}

/* The batch script has ended. */
static void note_missed_image(void)
{
    struct berth_err note;

    if (!berth_batch_is_missed())
        return;
    berth_err_set(&note, "note: the batch script ran on the host, and nothing of the "
                         "job in its image; write srun before programs, or give "
                         "sbatch --container-script to run the script in the image");
    berth_spell_options(shared.settings.option_prefix, &note);
    slurm_spank_log("berth: %s: %s", node_name(), note.text);
}

int berth_remote_task_exit(spank_t sp)
{
    uint32_t tasks = 0;
    int status = 0;

    if (berth_batch_is(sp))
        note_missed_image();
    if (!shared.rendezvous.page)
        return 0;
    spank_get_item(sp, S_TASK_EXIT_STATUS, &status);
    if (status != 0)
        shared.rendezvous.node->has_failed = true;
    note_lost_container();
    note_dropped(status);
    note_mpirun(status);

    spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &tasks);
    shared.ended++;
    if (shared.ended >= tasks)
        end_step();
    return 0;
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)

static int prepend_task(spank_t sp, const struct berth_taskfacts *part,
                        struct berth_order *order, struct berth_err *err)
{
    const char *argv[] = {BERTH_TASK_PROGRAM};

    (void)part;
    (void)order;
    if (spank_prepend_task_argv(sp, 1, argv) != ESPANK_SUCCESS)
        return berth_err_set(err, BERTH_VARIABLE_UNANSWERED, BERTH_TASK_PROGRAM);
    return 0;
}

#else

/* Before 23.11 Slurm has no function for this. S_JOB_ARGV is the array that execve
 * gets: replace argv[0], and send the user's own argv[0] in the order. With
 * --multi-prog the array is another one; srun has put berth-task into the configuration
 * (spank/multiproglines.c).
 */
static int prepend_task(spank_t sp, const struct berth_taskfacts *part,
                        struct berth_order *order, struct berth_err *err)
{
    int argc;
    char **argv = berth_taskfacts_argv(sp, &argc);

    if (argc < 1)
        return berth_err_set(err, BERTH_VARIABLE_UNANSWERED, "the command");
    if (part->row->ranks)
        return 0;
    order->argv0 = argv[0];
    argv[0] = strdup(BERTH_TASK_PROGRAM);
    return berth_err_oom_if(!argv[0], err);
}

#endif

/* Print the sentence in ERR on the task's standard error. FD is that of ipc/report.h.
 */
static void report(spank_t sp, int fd, struct berth_err *err)
{
    char node[256];

    if (spank_getenv(sp, BERTH_TASK_NODE, node, sizeof(node)) != ESPANK_SUCCESS)
        strcpy(node, "this node");
    berth_spell_options(shared.settings.option_prefix, err);
    berth_report(fd, node, err);
}

/* Check the request against the number of tasks and the command. */
static int check_tasks(spank_t sp, const struct berth_taskfacts *part,
                       const struct berth_request *request, struct berth_err *err)
{
    BERTH_FREE char *program = NULL;
    uint32_t tasks;

    if (berth_mpirun_check_tasks(request, berth_taskfacts_tasks(sp, part), err) < 0 ||
        berth_taskfacts_program(sp, part, shared.settings.option_prefix, &program,
                                &tasks, err) < 0)
        return -1;
    return berth_mpirun_check_command(request, tasks, program, err);
}

/* Warn, in the first task, of an mpirun in each task. Remember an mpirun in the only
 * one, for the case that it fails. */
static void look_for_mpirun(spank_t sp, const struct berth_taskfacts *part,
                            const struct berth_request *request)
{
    BERTH_FREE char *program = NULL;
    struct berth_err warning;
    uint32_t tasks;

    if (berth_taskfacts_program(sp, part, shared.settings.option_prefix, &program,
                                &tasks, NULL) < 0)
        return;
    if (berth_mpirun_is_repeated(request, tasks, program, &warning))
        report(sp, -1, &warning);
    if (shared.rendezvous.page && berth_mpirun_is_alone(request, tasks, program))
        shared.rendezvous.node->has_mpirun = true;
}

/* Fill the members of ORDER that are the same for all tasks of the node. */
static void add_shared(struct berth_order *order)
{
    const struct berth_site *site = &shared.site;

    if (*shared.settings.option_prefix)
        order->prefix = shared.settings.option_prefix;
    order->runtime = site->runtime.path;
    order->record = site->provenance.file;
    order->report = shared.report;
    if (!shared.rendezvous.page)
        return;
    order->memory = shared.rendezvous.memory;
    order->tasks = shared.rendezvous.tasks;
    order->ended = shared.rendezvous.ended;
}

/* Fill the members of ORDER, which borrows, that follow from the REQUEST of PART as the
 * site lets it run. */
static void add_request(spank_t sp, const struct berth_taskfacts *part,
                        const struct berth_request *request,
                        const struct berth_strvec *restored, struct berth_order *order)
{
    const struct berth_request *asked = &part->row->request;

    order->request = *request;
    if (!berth_request_equal(asked, request))
        order->asked = *asked;
    if (berth_request_has_job_lifetime(request))
        spank_get_item(sp, S_JOB_ID, &order->job);
    if (berth_request_mpi_is(request, BERTH_MODE_LAUNCH))
        order->allocation = part->row->job;
    if (berth_request_is_explained(asked))
        order->restored = *restored;
}

/* --mpi-bind and --container-libs need the rendezvous. */
static int check_rendezvous(const struct berth_request *request, struct berth_err *err)
{
    if (shared.rendezvous.page || !berth_request_looks_inside(request))
        return 0;
    *err = shared.no_rendezvous;
    return berth_err_at(err, "%s=%s", berth_request_cause(request),
                        berth_request_cause_value(request));
}

/* Put berth-task in front of the command, and set the variable with its order, which a
 * user may have set, too. */
static int give_order(spank_t sp, const struct berth_taskfacts *part,
                      struct berth_order *order, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};

    if (access(BERTH_TASK_PROGRAM, X_OK) < 0)
        return berth_program_missing(BERTH_TASK_PROGRAM, err);
    if (prepend_task(sp, part, order, err) < 0 ||
        berth_order_put(order, &text, err) < 0)
        return -1;
    if (spank_setenv(sp, BERTH_TASK_ORDER, text.text, 1) != ESPANK_SUCCESS)
        return berth_err_set(err, BERTH_VARIABLE_UNANSWERED, BERTH_TASK_ORDER);
    return 0;
}

/* Read the table of srun, and remove its variables from the environment. */
static int read_table(spank_t sp, struct berth_table *ret, struct berth_err *err)
{
    BERTH_FREE char *text = NULL;
    int result = berth_variable_get(sp, BERTH_STEP_VARIABLE, &text, err);

    if (spank_getenv(sp, BERTH_SITE_VARIABLE, shared.submitted,
                     sizeof(shared.submitted)) != ESPANK_SUCCESS)
        *shared.submitted = '\0';
    berth_variable_unset_all(sp);
    if (result < 0)
        return -1;
    if (berth_wire_get_table(text, ret, err) < 0)
        return berth_err_at(err, BERTH_STEP_VARIABLE);
    return 0;
}

/* Close the descriptors in shared.reports except that at index KEPT. */
static void close_reports(unsigned int kept)
{
    for (unsigned int i = 0; i <= shared.containers; i++) {
        if (i == kept || shared.reports[i] < 0)
            continue;
        close(shared.reports[i]);
        shared.reports[i] = -1;
    }
}

/* For a task on the host, which gets none of our descriptors. */
static void close_shared(void)
{
    close_reports(shared.containers + 1);
    if (!shared.rendezvous.page)
        return;
    close(shared.rendezvous.memory);
    close(shared.rendezvous.tasks);
    close(shared.rendezvous.ended);
}

/* Restore what --export drops, for a task in an image. Returns 1 if --export has
 * dropped something; 0 if not; -1 with a sentence in ERR. */
static int restore_environment(spank_t sp, const struct berth_row *row,
                               struct berth_strvec *ret, struct berth_err *err)
{
    if (!berth_request_has_container(&row->request))
        return 0;
    if (*shared.error.text) {
        *err = shared.error;
        return -1;
    }
    berth_restore_remove_outer(sp);
    return berth_restore(sp, &shared.site, &row->restore, ret, err);
}

/* slurmstepd sets the variables of a job over what a user exports, except the account
 * of a job that has no account; in a het job the plugin in srun does (spank/hetjob.h).
 * A plugin cannot ask slurmctld here: slurmstepd holds the locks which that needs while
 * it calls plugins, and would end. */
static struct berth_site_asker find_asker(spank_t sp)
{
    char **environment = environ;

    spank_get_item(sp, S_JOB_ENV, &environment);
    return (struct berth_site_asker){
        .job = berth_rules_job_of(environment, shared.where.group),
        .environment = environment,
    };
}

/* Print a note on the task's standard error for each value of the user's REQUEST that a
 * rule of the site replaces. */
static void report_rules(spank_t sp, const struct berth_site_asker *asker,
                         const struct berth_request *request)
{
    BERTH_STRVEC struct berth_strvec sentences = {0};

    if (!berth_request_has_container(request))
        return;
    berth_rules_report(&shared.site, &asker->job, request, &sentences);
    for (size_t i = 0; i < sentences.count; i++) {
        struct berth_err note;

        berth_err_set(&note, "note: %s", sentences.items[i]);
        report(sp, -1, &note);
    }
}

/* Is this the first task of the component? */
static bool is_first(spank_t sp)
{
    uint32_t node = 0, task = 0;

    if (spank_get_item(sp, S_JOB_NODEID, &node) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_TASK_ID, &task) != ESPANK_SUCCESS)
        return false;
    return node == 0 && task == 0;
}

/* If the tasks of REQUEST may be on other nodes, too, refuse a node that decides
 * otherwise about MPI than the host of srun. */
static int check_alike(const struct berth_request *request, unsigned int nodes,
                       struct berth_err *err)
{
    const bool is_component = shared.where.group >= 0 || shared.where.position >= 0;
    const bool has_others = is_component || berth_fallback_has_others(request, nodes);
    char digest[BERTH_DIGEST_SIZE];

    if (!*shared.submitted || !has_others ||
        shared.site.mpi.compare == BERTH_COMPARE_NO)
        return 0;
    if (berth_digest_of(&shared.site, berth_site_owner(), digest, err) < 0)
        return -1;
    if (berth_digest_check(digest, shared.submitted, err) == 0)
        return 0;
    shared.is_unlike = true;
    return -1;
}

/* Become scancel of this step: tasks of other nodes, which were not refused, would wait
 * in MPI_Init for those of this one. Without scancel only this task ends. */
static void end_whole_step(spank_t sp)
{
    uint32_t job = 0, step = 0, task = 0;
    char path[4096] = "/usr/bin:/bin";
    char name[32];

    if (spank_get_item(sp, S_TASK_ID, &task) != ESPANK_SUCCESS || task != 0)
        return; /* one task of the node is enough */
    if (spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
        return;
    spank_getenv(sp, "PATH", path, sizeof(path));
    setenv("PATH", path, 1);
    snprintf(name, sizeof(name), "%u.%u", job, step);
    execlp("scancel", "scancel", "--quiet", name, NULL);
}

/* Check REQUEST, which the site allows, and add what ORDER says of the step and the
 * container. The caller frees ORDER's ranks and locals, also after a failure, and the
 * programs. */
static int check_order(spank_t sp, const struct berth_taskfacts *part,
                       const struct berth_request *request,
                       struct berth_strvec *ret_programs, struct berth_order *order,
                       struct berth_err *err)
{
    const struct berth_rows_part rows = {part->table, part->row,
                                         shared.settings.option_prefix};

    if (check_tasks(sp, part, request, err) < 0 || check_rendezvous(request, err) < 0)
        return -1;
    if (berth_rows_programs(part->lines, &rows, request, ret_programs, err) < 0 ||
        berth_taskfacts_container(sp, part, &order->container, err) < 0)
        return -1;
    order->step = berth_taskfacts_step(sp, part, request);
    if (check_alike(request, order->step.nodes, err) < 0)
        return -1;
    if (order->container.number >= shared.containers)
        return berth_err_damaged(err, BERTH_CONTAINERS_VARIABLE);
    if (!part->row->ranks && is_first(sp))
        order->step.is_first = true;
    return 0;
}

/* In the first task: print what concerns all. */
static void print_notes(spank_t sp, const struct berth_taskfacts *part,
                        const struct berth_site_asker *asker,
                        const struct berth_request *request,
                        const struct berth_order_step *step)
{
    if (!step->is_first)
        return;
    if (!step->is_one_file)
        report_rules(sp, asker, &part->row->request);
    look_for_mpirun(sp, part, request);
}

/* Apply the site's policy to the request of PART, check it, and give the order. */
static int order_task(spank_t sp, const struct berth_taskfacts *part,
                      struct berth_strvec *restored, struct berth_err *err)
{
    const struct berth_request *asked = &part->row->request;
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_TERMS struct berth_terms terms = {0};
    BERTH_STRVEC struct berth_strvec programs = {0};
    struct berth_order order = BERTH_ORDER_EMPTY; /* borrows */
    struct berth_site_asker asker;
    BERTH_FREE char *ranks = NULL; /* of its container */
    BERTH_FREE char *locals = NULL;
    int is_restored = restore_environment(sp, part->row, restored, err);
    int result;

    if (is_restored < 0)
        return -1;
    asker = find_asker(sp);
    if (berth_apply_site(&shared.site, &asker, asked, &request, &terms, err) < 0)
        return -1;
    if (is_restored && berth_restore_tmpdir(sp, restored, err) < 0)
        return -1;
    result = check_order(sp, part, &request, &programs, &order, err);
    ranks = order.container.ranks;
    locals = order.container.locals;
    if (result < 0)
        return -1;
    print_notes(sp, part, &asker, &request, &order.step);

    order.terms = terms;
    order.programs = programs;
    add_request(sp, part, &request, restored, &order);
    add_shared(&order);
    return give_order(sp, part, &order, err);
}

/* Choose the descriptor by which one task of a container, or of the host, reports an
 * error: lines of a --multi-prog file may fail for different reasons. */
static void choose_report(const struct berth_taskfacts *part)
{
    int container = part->row->container;
    unsigned int index = 0;

    if (part->row->ranks && container < 0)
        index = shared.containers; /* that of the host */
    else if (part->row->ranks)
        index = (unsigned int)container;
    if (index > shared.containers)
        return; /* order_task() refuses this number */
    shared.report = shared.reports[index];
    close_reports(index);
}

/* Is the command of the component on this host, where slurmstepd looks for it
 * (_build_path() in its task.c)? */
static bool is_on_host(spank_t sp, const char *command)
{
    BERTH_FREE char *found = NULL;
    char path[PATH_MAX] = "";

    if (access(command, F_OK) == 0)
        return true;
    if (strchr(command, '/'))
        return false;
    spank_getenv(sp, "PATH", path, sizeof(path));
    found = berth_run_find(command, path);
    return found != NULL;
}

/* Print why a component without an image, beside one that has an image, will not find
 * its command: maybe the option was forgotten. Slurm's own errors follow. */
static void report_host(spank_t sp, const struct berth_taskfacts *part)
{
    int argc;
    char **argv = berth_taskfacts_argv(sp, &argc);
    int component = berth_where_component(&part->where);
    struct berth_err err;

    if (component < 0 || !berth_table_find_container(part->table))
        return;
    if (argc < 1 || is_on_host(sp, argv[0]))
        return;
    berth_err_set(&err,
                  "component %d has no image and runs on the host, which has no "
                  "command '%s'; give it --container-image=IMAGE, too",
                  component, argv[0]);
    report(sp, shared.report, &err);
}

/* The task of PART has no image. */
static void leave_on_host(spank_t sp, const struct berth_taskfacts *part)
{
    /* the variable may be another component's, and Slurm starts berth-oci for all */
    if (berth_variable_is_set(sp, BERTH_BUNDLE_VARIABLE))
        spank_setenv(sp, BERTH_BUNDLE_HOST, "1", 1);
    report_host(sp, part);
    close_shared();
}

static int prepare_task(spank_t sp, struct berth_err *err)
{
    BERTH_TABLE struct berth_table table = {0};
    BERTH_STRVEC struct berth_strvec restored = {0};
    BERTH_MULTIPROG struct berth_multiprog lines = {0};
    struct berth_taskfacts part = {.table = &table,
                                   .where = shared.where,
                                   .lines = &lines,
                                   .has_record = shared.site.provenance.file};

    if (read_table(sp, &table, err) < 0)
        return -1;
    spank_get_item(sp, S_TASK_GLOBAL_ID, &part.rank);
    if (berth_table_find(&table, &shared.where, part.rank, &part.row, err) < 0)
        return -1;
    choose_report(&part);
    if (part.row->ranks && berth_taskfacts_lines(sp, &lines, err) < 0)
        return -1;
    /* Our options are arguments in a --multi-prog line; berth-task removes them. */
    if (berth_request_has_container(&part.row->request) ||
        berth_request_is_explained(&part.row->request) || part.row->ranks)
        return order_task(sp, &part, &restored, err);
    leave_on_host(sp, &part);
    return 0;
}

/* In the process of a batch script. */
static void prepare_script(spank_t sp)
{
    const struct berth_settings *settings = &shared.settings;
    struct berth_err err;

    if (*shared.error.text)
        settings = NULL;
    if (berth_batch_task(sp, settings, &err) == 0)
        return;
    report(sp, -1, &err);
    _exit(EXIT_FAILURE);
}

int berth_remote_task(spank_t sp)
{
    const char *prefix = shared.settings.option_prefix;
    struct berth_err err;

    if (berth_batch_is(sp))
        prepare_script(sp);
    if (!is_ours(sp)) {
        /* As in the shell of salloc, which is an srun, too: a TaskProlog that sees the
         * variables would report that this node does not have the plugin. */
        berth_variable_unset_all(sp);
        return 0;
    }
    /* Slurm removes its copies of the options, but skips the variable after each. */
    berth_options_remove(sp, prefix, spank_unsetenv);
    if (prepare_task(sp, &err) == 0)
        return 0;
    report(sp, shared.report, &err);
    if (shared.is_unlike)
        end_whole_step(sp);
    _exit(EXIT_FAILURE);
}
