/* SPDX-License-Identifier: Apache-2.0 */
/* In slurmstepd: from the published table to berth-task in front of the command.
 * Everything happens in task_init: there the process is the user's, its standard error
 * is the task's, its exit is the task's exit, and no fault drains the node. */

#include "spank/remote.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "base/cleanup.h"
#include "site/settings.h"
#include "site/site.h"
#include "request/components.h"
#include "policy/policy.h"
#include "plan/order.h"
#include "commandline/launcher.h"
#include "request/spell.h"
#include "request/wire.h"
#include "probe/siteread.h"
#include "spank/extern.h"
#include "spank/names.h"
#include "spank/options.h"
#include "spank/part.h"
#include "spank/restore.h"
#include "spank/apply.h"
#include "spank/stepd.h"
#include "spank/variable.h"
#include "step/report.h"
#include "step/program.h"
#include "step/rendezvous.h"

/* What the tasks of this step share; Slurm has no place for it. */
static struct {
    struct berth_where where; /* the component; looking for it takes longer the more
                                 descriptors slurmstepd has, so not in every task */
    struct berth_site site;   /* what it wants */
    struct berth_err fault;   /* of its configuration; text "": none */
    int report; /* who may report a fault, of the tasks of a container, or of those on
                   the host; -1: none was made */
    int reports[BERTH_RENDEZVOUS_MAX + 1]; /* all of these, the host's behind them */
    unsigned int containers;
    struct berth_rendezvous rendezvous; /* where they meet; page NULL: nowhere, */
    struct berth_err no_rendezvous;     /* and why */
    uint32_t ended;                     /* tasks that have */
    bool is_forked;                     /* the first task */
    bool is_reported;                   /* that the container was lost */
} shared = {.report = -1};

/* Options travel in the table; what Slurm sends of them says nothing per component. */
static int ignore_option(int id, const char *value, int remote)
{
    (void)id;
    (void)value;
    (void)remote;
    return 0;
}

int berth_remote_init(spank_t sp, int count, char **words)
{
    struct berth_settings settings;

    berth_settings_read(count, words, &settings, NULL);
    berth_options_register(sp, settings.option_prefix, ignore_option);
    berth_settings_fini(&settings);
    return 0;
}

/* Batch, extern and interactive steps (SLURM_BATCH_SCRIPT and its like, slurm.h) are
 * left alone. */
static bool is_ours(spank_t sp)
{
    char start[2];
    uint32_t step;
    spank_err_t answer;

    if (spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS || step >= 0xfffffff0)
        return false;
    answer = spank_getenv(sp, BERTH_STEP_VARIABLE, start, sizeof(start));
    return answer == ESPANK_SUCCESS || answer == ESPANK_NOSPACE;
}

/* A fault waits for a task in an image: the others need none of this. */
static void read_site(int count, char **words)
{
    struct berth_settings settings;

    shared.site = berth_site_default();
    if (berth_settings_read(count, words, &settings, &shared.fault) == 0)
        berth_site_read(settings.config, berth_site_owner(), &shared.site,
                        &shared.fault);
    berth_settings_fini(&settings);
}

/* A plain number, so that no process reads more of srun's as root. */
static unsigned int count_containers(spank_t sp)
{
    char text[16] = "1";
    int count;

    spank_getenv(sp, BERTH_CONTAINERS_VARIABLE, text, sizeof(text));
    count = atoi(text);
    return count < 1 || count > BERTH_RENDEZVOUS_MAX ? 1 : (unsigned int)count;
}

int berth_remote_open(spank_t sp)
{
    if (!is_ours(sp))
        return 0;
    shared.containers = count_containers(sp);
    for (unsigned int i = 0; i <= shared.containers; i++)
        shared.reports[i] = berth_report_open();
    shared.report = shared.reports[0];
    berth_rendezvous_make(&shared.rendezvous, shared.containers, &shared.no_rendezvous);
    return 0;
}

int berth_remote_step(spank_t sp, int count, char **words)
{
    if (!is_ours(sp))
        return 0;
    read_site(count, words);
    shared.where = berth_stepd_where(sp);
    if (shared.rendezvous.page)
        berth_rendezvous_configure(&shared.rendezvous,
                                   shared.site.runtime.start_timeout,
                                   berth_site_why_apart(&shared.site));
    return 0;
}

/* A plain word, so that no process reads more of srun's as root. */
static bool may_last(spank_t sp)
{
    char word[8] = "";

    spank_getenv(sp, BERTH_LIFETIME_VARIABLE, word, sizeof(word));
    return berth_policy_may_last_job(&shared.site, *word ? word : NULL);
}

int berth_remote_forked(spank_t sp)
{
    if (!shared.rendezvous.page || shared.is_forked)
        return 0;
    shared.is_forked = true;
    if (may_last(sp))
        berth_extern_serve(sp);
    return 0;
}

/* The container went away under its tasks: whatever they print, this is why. */
static void report_loss(void)
{
    char node[256] = "this node";

    shared.is_reported = true;
    gethostname(node, sizeof(node) - 1);
    slurm_spank_log(
        "berth: %s: the container ended before its tasks; it was killed, or "
        "ran out of memory",
        node);
}

int berth_remote_task_exit(spank_t sp)
{
    uint32_t count = 0;
    int status = 0;

    if (!shared.rendezvous.page)
        return 0;
    spank_get_item(sp, S_TASK_EXIT_STATUS, &status);
    if (status && !shared.is_reported &&
        berth_rendezvous_is_any_lost(&shared.rendezvous))
        report_loss();
    spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &count);
    if (++shared.ended >= count)
        berth_rendezvous_close(&shared.rendezvous);
    return 0;
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)

static int put_in_front(spank_t sp, const struct berth_part *part,
                        struct berth_order *order, struct berth_err *err)
{
    const char *argv[] = {BERTH_TASK_PROGRAM};

    (void)part;
    (void)order;
    if (spank_prepend_task_argv(sp, 1, argv) != ESPANK_SUCCESS)
        return berth_err_set(err, "Slurm did not take " BERTH_TASK_PROGRAM
                                  " as the command");
    return 0;
}

#else

/* There is no call for it here. argv[0] of the task can be replaced, because S_JOB_ARGV
 * is the very array that execve gets; the user's own argv[0] goes by the order. With
 * --multi-prog it is not, and srun has written berth-task into the configuration (see
 * spank/lines.c), so that argv[0] is the configuration's name and stays. */
static int put_in_front(spank_t sp, const struct berth_part *part,
                        struct berth_order *order, struct berth_err *err)
{
    int argc;
    char **argv = berth_part_argv(sp, &argc);

    if (argc < 1)
        return berth_err_set(err, "Slurm does not tell the command");
    if (part->row->ranks)
        return 0;
    order->argv0 = argv[0];
    argv[0] = strdup(BERTH_TASK_PROGRAM);
    return argv[0] ? 0 : berth_err_oom(err);
}

#endif

/* Can the tasks be what the request makes of them? */
static int check_tasks(spank_t sp, const struct berth_part *part,
                       const struct berth_request *request, const char *prefix,
                       struct berth_err *err)
{
    BERTH_FREE char *program = NULL;
    uint32_t tasks;
    char bundle[256] = "";

    spank_getenv(sp, BERTH_BUNDLE_VARIABLE, bundle, sizeof(bundle));
    if (berth_launcher_check_bundle(request, bundle, err) < 0)
        return -1;
    if (berth_launcher_check_tasks(request, berth_part_tasks(sp, part), err) < 0 ||
        berth_part_program(sp, part, prefix, &program, &tasks, err) < 0)
        return -1;
    return berth_launcher_check_command(request, tasks, program, err);
}

/* What the site and the tasks of the node share, for each order. */
static void add_shared(struct berth_order *order)
{
    const struct berth_site *site = &shared.site;

    order->runtime = site->runtime.path;
    order->record = site->provenance.file;
    if (order->record && site->provenance.digest == BERTH_DIGEST_SHA256)
        order->digest_limit = site->runtime.start_timeout;
    order->report = shared.report;
    if (!shared.rendezvous.page)
        return;
    order->memory = shared.rendezvous.memory;
    order->tasks = shared.rendezvous.tasks;
    order->ended = shared.rendezvous.ended;
}

/* Whose MPI runs is found out where the tasks meet. */
static int check_rendezvous(const struct berth_request *request, struct berth_err *err)
{
    if (shared.rendezvous.page || !berth_request_mpi_chosen(request))
        return 0;
    return berth_err_set(err,
                         "--mpi-bind=%s: the tasks of this node cannot meet to decide "
                         "whose MPI runs: %s; submit the step again, or without "
                         "--mpi-bind",
                         request->mpi, shared.no_rendezvous.text);
}

/* Put berth-task in front of the command, and set its order over whatever the user may
 * have put there. */
static int hand_over(spank_t sp, const struct berth_part *part,
                     struct berth_order *order, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};

    if (access(BERTH_TASK_PROGRAM, X_OK) < 0)
        return berth_program_missing(BERTH_TASK_PROGRAM, err);
    if (put_in_front(sp, part, order, err) < 0 ||
        berth_order_put(order, &text, err) < 0)
        return -1;
    if (spank_setenv(sp, BERTH_TASK_ORDER, text.text, 1) != ESPANK_SUCCESS)
        return berth_err_set(err, "cannot set " BERTH_TASK_ORDER " for the task");
    return 0;
}

/* What srun published, and out of the environment it goes. */
static int read_table(spank_t sp, struct berth_table *ret, struct berth_err *err)
{
    BERTH_FREE char *text = NULL;
    struct berth_err why;

    spank_unsetenv(sp, BERTH_CONTAINERS_VARIABLE);
    spank_unsetenv(sp, BERTH_LIFETIME_VARIABLE);
    if (berth_variable_take(sp, BERTH_STEP_VARIABLE, &text, err) < 0)
        return -1;
    if (!text) /* is_ours() has seen it */
        return berth_err_set(err,
                             BERTH_STEP_VARIABLE ": not there" BERTH_VARIABLE_ADVICE);
    if (berth_wire_get_table(text, ret, &why) < 0)
        return berth_err_set(err, BERTH_STEP_VARIABLE ": %s" BERTH_VARIABLE_ADVICE,
                             why.text);
    return 0;
}

/* Slurm takes its own copies of the options out of the environment, but goes over the
 * one behind each; what is left would be in the application's. */
static void forget_slurm_copies(spank_t sp, const char *prefix)
{
    for (int i = 0; i < BERTH_OPTIONS_ALL; i++) {
        char name[256];

        berth_options_variable(prefix, i, name, sizeof(name));
        spank_unsetenv(sp, name);
    }
}

/* In a task without an image: it gets none of our descriptors. */
static void close_shared(void)
{
    for (unsigned int i = 0; i <= shared.containers; i++)
        if (shared.reports[i] >= 0)
            close(shared.reports[i]);
    if (!shared.rendezvous.page)
        return;
    close(shared.rendezvous.memory);
    close(shared.rendezvous.tasks);
    close(shared.rendezvous.ended);
}

/* What --export drops of the environment of a task with an image. Returns 1 when it was
 * restored, 0 when nothing was, -1 with a sentence in ERR. */
static int restore(spank_t sp, const struct berth_request *request,
                   const struct berth_table *table, struct berth_strvec *ret,
                   struct berth_err *err)
{
    if (!berth_request_has_container(request)) {
        berth_restore_nothing(sp);
        return 0;
    }
    if (*shared.fault.text) {
        *err = shared.fault;
        return -1;
    }
    berth_restore_forget_outer(sp);
    return berth_restore(sp, &shared.site, table, &shared.where, ret, err);
}

static bool is_first(spank_t sp)
{
    uint32_t node = 0, task = 0;

    return spank_get_item(sp, S_JOB_NODEID, &node) == ESPANK_SUCCESS && node == 0 &&
           spank_get_item(sp, S_TASK_ID, &task) == ESPANK_SUCCESS && task == 0;
}

/* Order what the request of PART comes to on this node. */
static int order_task(spank_t sp, const struct berth_part *part,
                      struct berth_strvec *restored, const char *prefix,
                      struct berth_err *err)
{
    const struct berth_request *asked = &part->row->request;
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_TERMS struct berth_terms terms = {0};
    BERTH_STRVEC struct berth_strvec programs = {0};
    BERTH_STRVEC struct berth_strvec allocation = {0};
    struct berth_order order = BERTH_ORDER_EMPTY; /* borrows */
    BERTH_FREE char *ranks = NULL;                /* of its container */
    BERTH_FREE char *locals = NULL;
    int is_restored = restore(sp, asked, part->table, restored, err);

    if (is_restored < 0 || berth_restore_allocation(sp, &allocation, err) < 0 ||
        berth_apply_site_step(sp, &shared.site, asked, &request, &terms, err) < 0 ||
        (is_restored && berth_restore_tmpdir(sp, restored, err) < 0) ||
        check_tasks(sp, part, &request, prefix, err) < 0 ||
        check_rendezvous(&request, err) < 0 ||
        berth_part_programs(sp, part, &request, prefix, &programs, err) < 0 ||
        berth_part_container(sp, part, &order.container, err) < 0)
        return -1;
    ranks = order.container.ranks;
    locals = order.container.locals;
    order.step = berth_part_step(sp, part, &request);
    if (order.container.number >= shared.containers)
        return berth_err_set(
            err,
            BERTH_CONTAINERS_VARIABLE
            ": it says %u, and the step has more" BERTH_VARIABLE_ADVICE,
            shared.containers);
    if (part->row->ranks ? order.step.is_first : is_first(sp))
        berth_apply_site_report(sp, &shared.site, asked, prefix);
    if (berth_request_has_job_lifetime(&request))
        spank_get_item(sp, S_JOB_ID, &order.job);
    order.request = request;
    order.terms = terms;
    order.programs = programs;
    if (berth_request_mpi_is(&request, BERTH_MODE_LAUNCH))
        order.allocation = allocation;
    order.prefix = *prefix ? (char *)prefix : NULL;
    if (berth_request_is_explained(asked) || !berth_request_equal(asked, &request))
        order.asked = *asked;
    if (berth_request_is_explained(asked))
        order.restored = *restored;
    add_shared(&order);
    return hand_over(sp, part, &order, err);
}

/* Lines of a --multi-prog file may be wrong for different reasons; all are reported. */
static void choose_report(const struct berth_part *part)
{
    int container = part->row->container;
    unsigned int own = 0;

    if (part->row->ranks)
        own = container < 0 ? shared.containers : (unsigned int)container;
    if (own > shared.containers)
        return; /* srun has announced fewer than there are */
    shared.report = shared.reports[own];
    for (unsigned int i = 0; i <= shared.containers; i++)
        if (i != own && shared.reports[i] >= 0) {
            close(shared.reports[i]);
            shared.reports[i] = -1;
        }
}

static int prepare(spank_t sp, const char *prefix, struct berth_err *err)
{
    BERTH_TABLE struct berth_table table = {0};
    BERTH_STRVEC struct berth_strvec restored = {0};
    struct berth_part part = {.table = &table,
                              .where = shared.where,
                              .has_record = shared.site.provenance.file};

    if (read_table(sp, &table, err) < 0)
        return -1;
    spank_get_item(sp, S_TASK_GLOBAL_ID, &part.rank);
    if (berth_table_find(&table, &shared.where, part.rank, &part.row, err) < 0)
        return -1;
    choose_report(&part);
    /* Every word of a --multi-prog line is the command's, our options too: berth-task
     * takes them away. */
    if (berth_request_has_container(&part.row->request) ||
        berth_request_is_explained(&part.row->request) || part.row->ranks)
        return order_task(sp, &part, &restored, prefix, err);
    berth_restore_nothing(sp);
    close_shared();
    return 0;
}

/* In a step that is not ours, like the shell of salloc, which is an srun too. A
 * TaskProlog would take it for a node without the plugin. */
static void forget_table(spank_t sp)
{
    spank_unsetenv(sp, BERTH_STEP_VARIABLE);
    spank_unsetenv(sp, BERTH_ENV_VARIABLE);
    spank_unsetenv(sp, BERTH_CONTAINERS_VARIABLE);
    spank_unsetenv(sp, BERTH_LIFETIME_VARIABLE);
}

int berth_remote_task(spank_t sp, int count, char **words)
{
    struct berth_settings settings;
    struct berth_err err;
    char node[256];

    if (!is_ours(sp)) {
        forget_table(sp);
        return 0;
    }
    berth_settings_read(count, words, &settings, NULL);
    forget_slurm_copies(sp, settings.option_prefix);
    if (prepare(sp, settings.option_prefix, &err) == 0) {
        berth_settings_fini(&settings);
        return 0;
    }
    if (spank_getenv(sp, BERTH_TASK_NODE, node, sizeof(node)) != ESPANK_SUCCESS)
        strcpy(node, "this node");
    berth_spell_options(settings.option_prefix, &err);
    berth_report(shared.report, node, &err);
    _exit(EXIT_FAILURE);
}
