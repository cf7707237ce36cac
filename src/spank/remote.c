/* SPDX-License-Identifier: Apache-2.0 */
/* In slurmstepd: from the published table to berth-task in front of the command.
 * Everything happens in task_init: there the process is the user's, its standard error
 * is the task's, its exit is the task's exit, and no fault drains the node. */

#include "spank/remote.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "base/cleanup.h"
#include "site/settings.h"
#include "site/site.h"
#include "request/components.h"
#include "report/explain.h"
#include "request/launcher.h"
#include "request/multiprog.h"
#include "request/option.h"
#include "request/spell.h"
#include "request/wire.h"
#include "probe/siteread.h"
#include "spank/names.h"
#include "spank/options.h"
#include "spank/restore.h"
#include "spank/settle.h"
#include "spank/stepd.h"
#include "spank/variable.h"
#include "step/names.h"
#include "step/report.h"
#include "step/rendezvous.h"

#define TASK_PROGRAM BERTH_LIBEXECDIR "/berth-task"

/* What the tasks of this step share; Slurm has no place for it. */
static struct {
    struct berth_where where; /* the component; looking for it takes longer the more
                                 descriptors slurmstepd has, so not in every task */
    struct berth_site site;   /* what it wants */
    struct berth_err fault;   /* of its configuration; text "": none */
    int report;               /* who may report a fault; -1: none was made */
    struct berth_rendezvous rendezvous; /* where they meet; page NULL: nowhere, */
    struct berth_err no_room;           /* and why */
    uint32_t ended;                     /* tasks that have */
    bool told;                          /* that the container was lost */
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

int berth_remote_open(spank_t sp)
{
    if (!is_ours(sp))
        return 0;
    shared.report = berth_report_open();
    berth_rendezvous_make(&shared.rendezvous, &shared.no_room);
    return 0;
}

int berth_remote_step(spank_t sp, int count, char **words)
{
    uint32_t tasks = 0;

    if (!is_ours(sp))
        return 0;
    read_site(count, words);
    shared.where = berth_stepd_where(sp);
    if (!shared.rendezvous.page)
        return 0;
    spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &tasks);
    berth_rendezvous_furnish(&shared.rendezvous, tasks,
                             shared.site.runtime.start_timeout);
    if (shared.site.runtime.share == BERTH_SHARE_NEVER)
        berth_rendezvous_forbid(&shared.rendezvous, "the site says share: never");
    return 0;
}

/* The container went away under its tasks: whatever they said of it, this is why. */
static void tell_loss(void)
{
    char node[256] = "this node";

    shared.told = true;
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
    if (status && !shared.told &&
        berth_rendezvous_state(&shared.rendezvous) == BERTH_RENDEZVOUS_LOST)
        tell_loss();
    spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &count);
    if (++shared.ended >= count)
        berth_rendezvous_close(&shared.rendezvous);
    return 0;
}

static int set_variable(spank_t sp, const char *name, const char *value,
                        struct berth_err *err)
{
    if (spank_setenv(sp, name, value, 1) != ESPANK_SUCCESS)
        return berth_err_set(err, "cannot set %s for the task", name);
    return 0;
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)

static int put_in_front(spank_t sp, struct berth_err *err)
{
    const char *argv[] = {TASK_PROGRAM};

    spank_unsetenv(sp, BERTH_MULTIPROG_VARIABLE);
    if (spank_prepend_task_argv(sp, 1, argv) != ESPANK_SUCCESS)
        return berth_err_set(err, "Slurm did not take " TASK_PROGRAM " as the command");
    return 0;
}

#else

/* There is no call for it here. argv[0] of the task can be replaced, because S_JOB_ARGV
 * is the very array that execve gets; the user's own argv[0] goes by the environment.
 * With --multi-prog it is not, and srun has written berth-task into the configuration
 * (see spank/local.c), so that argv[0] is the configuration's name and stays. */
static int put_in_front(spank_t sp, struct berth_err *err)
{
    char multiprog[8];
    char **argv = NULL;
    int argc = 0;

    if (spank_get_item(sp, S_JOB_ARGV, &argc, &argv) != ESPANK_SUCCESS || argc < 1)
        return berth_err_set(err, "Slurm does not tell the command");
    if (spank_getenv(sp, BERTH_MULTIPROG_VARIABLE, multiprog, sizeof(multiprog)) ==
        ESPANK_SUCCESS) {
        spank_unsetenv(sp, BERTH_MULTIPROG_VARIABLE);
        return 0;
    }
    if (set_variable(sp, BERTH_TASK_ARGV0, argv[0], err) < 0)
        return -1;
    argv[0] = strdup(TASK_PROGRAM);
    return argv[0] ? 0 : berth_err_oom(err);
}

#endif

/* With --multi-prog: the programs of all tasks, of which each node looks at each. */
static int tell_programs(spank_t sp, const struct berth_request *request,
                         struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec programs = {0};
    BERTH_BUF struct berth_buf text = {0};
    char multiprog[8];
    char **argv = NULL;
    int argc = 0;

    if (!berth_request_mpi_chosen(request) ||
        spank_getenv(sp, BERTH_MULTIPROG_VARIABLE, multiprog, sizeof(multiprog)) !=
            ESPANK_SUCCESS)
        return 0;
    if (spank_get_item(sp, S_JOB_ARGV, &argc, &argv) != ESPANK_SUCCESS || argc < 2)
        return berth_err_set(err, "Slurm does not tell the --multi-prog configuration");
    if (berth_multiprog_programs(argv[1], TASK_PROGRAM, &programs, err) < 0)
        return -1;
    for (size_t i = 0; i < programs.count; i++) {
        berth_buf_puts(&text, i ? "\n" : "");
        berth_buf_puts(&text, programs.items[i]);
    }
    if (text.failed)
        return berth_err_oom(err);
    return programs.count > 1 ? set_variable(sp, BERTH_TASK_PROGRAMS, text.text, err)
                              : 0;
}

/* Is this the node that speaks for the component? */
static bool leads(spank_t sp, const struct berth_request *request)
{
    uint32_t node = 0;

    return (berth_request_mpi_chosen(request) || berth_request_explained(request) ||
            shared.site.provenance.file) &&
           spank_get_item(sp, S_JOB_NODEID, &node) == ESPANK_SUCCESS && node == 0;
}

/* Of this component; 0: not told. */
static uint32_t count_tasks(spank_t sp)
{
    uint32_t count = 0;

    if (spank_get_item(sp, S_JOB_TOTAL_TASK_COUNT, &count) != ESPANK_SUCCESS)
        return 0;
    return count;
}

/* The command as the user gave it; "": not told. */
static const char *command_of(spank_t sp)
{
    char **argv = NULL;
    int argc = 0;

    if (spank_get_item(sp, S_JOB_ARGV, &argc, &argv) != ESPANK_SUCCESS || argc < 1)
        return "";
    return argv[0];
}

/* Can the tasks be what the request makes of them? */
static int check_tasks(spank_t sp, const struct berth_request *request,
                       struct berth_err *err)
{
    uint32_t tasks = count_tasks(sp);
    char bundle[256] = "";

    spank_getenv(sp, BERTH_BUNDLE_VARIABLE, bundle, sizeof(bundle));
    if (berth_launcher_check_bundle(request, bundle, err) < 0)
        return -1;
    if (berth_launcher_check_tasks(request, tasks, err) < 0)
        return -1;
    return berth_launcher_check_command(request, tasks, command_of(sp), err);
}

/* What berth-task cannot see of the step, for --container-explain and records. REQUEST
 * is as the user made it, RESTORED of berth_restore(). */
static int tell_step(spank_t sp, const struct berth_request *request,
                     const struct berth_table *table,
                     const struct berth_strvec *restored, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};
    BERTH_BUF struct berth_buf asked = {0};
    struct berth_explain_step step = {.tasks = count_tasks(sp), .restored = restored};
    const struct berth_where *where = &shared.where;
    bool is_het = where->group >= 0 || where->position >= 0;

    if (!berth_request_explained(request) && !shared.site.provenance.file)
        return 0;
    spank_get_item(sp, S_JOB_NNODES, &step.nodes);
    if (is_het)
        step.component = where->position >= 0 ? where->position : where->group;
    step.is_several =
        is_het && (table->count > 1 || table->rows[0].group == BERTH_GROUP_ALL);
    berth_wire_put_request(&asked, request);
    step.asked = asked.text;
    berth_explain_put_step(&step, &text);
    if (text.failed || asked.failed)
        return berth_err_oom(err);
    return set_variable(sp, BERTH_TASK_EXPLAIN, text.text, err);
}

/* What a user's environment says in our name is not ours. */
static void forget_forged(spank_t sp)
{
    static const char *const names[] = {
        BERTH_TASK_ARGV0, BERTH_TASK_DIGEST,   BERTH_TASK_EXPLAIN,
        BERTH_TASK_LEADS, BERTH_TASK_PROGRAMS, BERTH_TASK_RECORD,
        BERTH_TASK_ROOM,  BERTH_TASK_RUNTIME,  BERTH_TASK_TERMS,
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        spank_unsetenv(sp, names[i]);
}

/* What is to be kept of the step. */
static int tell_record(spank_t sp, struct berth_err *err)
{
    const struct berth_site *site = &shared.site;
    char seconds[16];

    if (!site->provenance.file)
        return 0;
    snprintf(seconds, sizeof(seconds), "%u", site->runtime.start_timeout);
    if (site->provenance.digest == BERTH_DIGEST_SHA256 &&
        set_variable(sp, BERTH_TASK_DIGEST, seconds, err) < 0)
        return -1;
    return set_variable(sp, BERTH_TASK_RECORD, site->provenance.file, err);
}

/* Whose MPI runs is found out where the tasks meet. */
static int check_room(const struct berth_request *request, struct berth_err *err)
{
    if (shared.rendezvous.page || !berth_request_mpi_chosen(request))
        return 0;
    return berth_err_set(err, BERTH_TASK_NO_ROOM, request->mpi, shared.no_room.text);
}

/* Tell berth-task what to do, and put it in front. */
static int hand_over(spank_t sp, const struct berth_request *request,
                     const struct berth_terms *terms, const char *prefix,
                     struct berth_err *err)
{
    BERTH_BUF struct berth_buf fields = {0};
    BERTH_BUF struct berth_buf said = {0};
    char number[16];
    char rendezvous[32] = "";

    if (access(TASK_PROGRAM, X_OK) < 0)
        return berth_err_set(err, "'%s': %s; install berth again on this host",
                             TASK_PROGRAM, strerror(errno));
    berth_wire_put_request(&fields, request);
    berth_terms_put(terms, &said);
    if (fields.failed || said.failed)
        return berth_err_oom(err);
    snprintf(number, sizeof(number), "%d", shared.report);
    if (shared.rendezvous.page)
        berth_rendezvous_name(&shared.rendezvous, rendezvous, sizeof(rendezvous));
    if (set_variable(sp, BERTH_TASK_REQUEST, fields.text, err) < 0 ||
        set_variable(sp, BERTH_TASK_REPORT, number, err) < 0 ||
        set_variable(sp, BERTH_TASK_PREFIX, prefix, err) < 0 ||
        (said.used && set_variable(sp, BERTH_TASK_TERMS, said.text, err) < 0) ||
        (shared.site.runtime.path &&
         set_variable(sp, BERTH_TASK_RUNTIME, shared.site.runtime.path, err) < 0) ||
        (*rendezvous && set_variable(sp, BERTH_TASK_ROOM, rendezvous, err) < 0) ||
        tell_record(sp, err) < 0 ||
        (leads(sp, request) && set_variable(sp, BERTH_TASK_LEADS, "1", err) < 0))
        return -1;
    return put_in_front(sp, err);
}

/* What srun published, and out of the environment it goes. */
static int read_table(spank_t sp, struct berth_table *ret, struct berth_err *err)
{
    BERTH_FREE char *text = NULL;
    struct berth_err why;

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
    for (int i = 0; i < BERTH_OPTION_COUNT; i++) {
        char name[256];

        berth_options_variable(prefix, i, name, sizeof(name));
        spank_unsetenv(sp, name);
    }
}

/* In a task without an image: it gets none of our descriptors. */
static void close_shared(void)
{
    if (shared.report >= 0)
        close(shared.report);
    if (!shared.rendezvous.page)
        return;
    close(shared.rendezvous.memory);
    close(shared.rendezvous.tasks);
    close(shared.rendezvous.ended);
}

static int prepare(spank_t sp, const char *prefix, struct berth_err *err)
{
    BERTH_TABLE struct berth_table table = {0};
    BERTH_STRVEC struct berth_strvec restored = {0};
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_TERMS struct berth_terms terms = {0};
    const struct berth_row *row = NULL;
    int is_restored = 0;

    if (read_table(sp, &table, err) < 0 ||
        berth_table_find(&table, &shared.where, &row, err) < 0)
        return -1;
    if (berth_request_contained(&row->request)) {
        if (*shared.fault.text) {
            *err = shared.fault;
            return -1;
        }
        berth_restore_forget_outer(sp);
        is_restored =
            berth_restore(sp, &shared.site, &table, &shared.where, &restored, err);
        if (is_restored < 0)
            return -1;
    } else {
        berth_restore_nothing(sp);
        if (!berth_request_explained(&row->request)) {
            close_shared();
            return 0;
        }
    }
    if (berth_settle_step(sp, &shared.site, &row->request, &request, &terms, err) < 0 ||
        (is_restored && berth_restore_tmpdir(sp, &restored, err) < 0) ||
        check_tasks(sp, &request, err) < 0 || check_room(&request, err) < 0)
        return -1;
    forget_forged(sp);
    if (tell_step(sp, &row->request, &table, &restored, err) < 0 ||
        tell_programs(sp, &row->request, err) < 0)
        return -1;
    return hand_over(sp, &request, &terms, prefix, err);
}

/* In a step that is not ours, like the shell of salloc, which is an srun too. A
 * TaskProlog would take it for a node without the plugin. */
static void forget_table(spank_t sp)
{
    spank_unsetenv(sp, BERTH_STEP_VARIABLE);
    spank_unsetenv(sp, BERTH_ENV_VARIABLE);
    spank_unsetenv(sp, BERTH_MULTIPROG_VARIABLE);
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
