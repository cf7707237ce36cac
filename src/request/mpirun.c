/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which variables an mpirun in a task sees, and which modes of --mpi-bind
 * cannot be in one step. Reads and starts nothing. */

#include "request/mpirun.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/text.h"
#include "mpi/names.h"

enum sight {
    HIDDEN,
    SHOWN,
    SHOWN_EACH,   /* with local-each: it distinguishes the tasks */
    SHOWN_LAUNCH, /* with launch: the mpirun starts ranks through Slurm */
};

/* The first row that matches a variable decides; other variables are shown. A star at
 * the end matches any text. */
static const struct {
    const char *name;
    enum sight sight;
} rules[] = {
    /* Variables of Slurm that scripts read, and no launcher or MPI library. */
    {"SLURM_ARRAY_*", SHOWN},
    {"SLURM_CPUS_ON_NODE", SHOWN},
    {"SLURM_JOB_END_TIME", SHOWN},
    {"SLURM_JOB_NAME", SHOWN},
    {"SLURM_RESTART_COUNT", SHOWN},
    {"SLURM_SUBMIT_DIR", SHOWN},
    {"SLURM_TMPDIR", SHOWN},
    {"SLURM_PROCID", SHOWN_EACH},
    /* Hydra: nodes and tasks per node (bootstrap/external/slurm_query_*.c). Open MPI 4:
     * JOBID, NODELIST, STEP_ID, ... (orte/mca/{ess,plm,ras,schizo}/slurm). PRRTE of
     * Open MPI 5 and 6: JOB_ID, JOBID, ... (src/mca/{common,ess,plm,ras}/slurm). Intel
     * MPI: JOBID, NODELIST, TASKS_PER_NODE, MPI_TYPE, ... (mpirun, mpiexec, libmpi). */
    {"SLURM_*", SHOWN_LAUNCH},
    {"SLURMD_*", SHOWN_LAUNCH},
    /* The process managers of Slurm: mpi/pmi2, mpi/pmix, mpi/cray_shasta. */
    {"PMI_*", HIDDEN},
    {"PMI2_*", HIDDEN},
    {"PMIX_MCA_*", SHOWN},
    {"PMIX_*", HIDDEN},
    {"PALS_*", HIDDEN},
    /* An mpirun that started srun; what Slurm sets for an mpirun (env.c, mpi/pmix);
     * components that a site chooses for its own mpirun. */
    {"OMPI_MCA_ess", HIDDEN},
    {"OMPI_MCA_orte_precondition_transports", HIDDEN},
    {"OMPI_MCA_plm", SHOWN_LAUNCH},
    {"OMPI_MCA_plm_rsh_agent", HIDDEN},
    {"OMPI_MCA_plm_slurm_args", SHOWN_LAUNCH},
    {"OMPI_MCA_pmix", HIDDEN},
    {"OMPI_MCA_ras", SHOWN_LAUNCH},
    {"OMPI_MCA_*", SHOWN},
    {"OMPI_*", HIDDEN},
    {"PRTE_MCA_ess", HIDDEN},
    {"PRTE_MCA_plm", SHOWN_LAUNCH},
    {"PRTE_MCA_plm_slurm_args", SHOWN_LAUNCH},
    {"PRTE_MCA_ras", SHOWN_LAUNCH},
    {"PRTE_LAUNCHED", HIDDEN},
    {"HYDRA_BOOTSTRAP*", SHOWN_LAUNCH},
    {"HYDRA_LAUNCHER*", SHOWN_LAUNCH},
    {"HYDRA_RMK", SHOWN_LAUNCH},
    {"I_MPI_HYDRA_BOOTSTRAP*", SHOWN_LAUNCH},
    {"I_MPI_HYDRA_RMK", SHOWN_LAUNCH},
    {"I_MPI_PMI*", HIDDEN},
};

static bool matches(const char *pattern, const char *variable)
{
    size_t length = strcspn(variable, "=");
    size_t fixed = strcspn(pattern, "*");
    bool has_star = pattern[fixed] == '*';

    if (length < fixed || strncmp(pattern, variable, fixed) != 0)
        return false;
    return has_star || length == fixed;
}

/* Who sees VARIABLE, by the first row that matches it. */
static enum sight sight_of(const char *variable)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (matches(rules[i].name, variable))
            return rules[i].sight;
    return SHOWN;
}

static bool is_shown(const struct berth_request *request, const char *variable)
{
    switch (sight_of(variable)) {
    case HIDDEN:
        return false;
    case SHOWN:
        return true;
    case SHOWN_EACH:
        return berth_request_mpi_is(request, BERTH_MODE_LOCAL_EACH);
    case SHOWN_LAUNCH:
        return berth_request_mpi_is(request, BERTH_MODE_LAUNCH);
    }
    return false;
}

/* Open MPI's mpirun counts the cores of the node, refuses more ranks than cores, and
 * binds the ranks to the cores from the first on, whatever CPUs the mpirun itself is
 * bound to: all mpiruns of a node would use the first cores. So these variables tell
 * mpirun the number of its CPUs, to bind no rank, and to accept more ranks than CPUs
 * (waiting ranks then sleep). Open MPI 4 may refuse to start without ssh, which it does
 * not use here; any program satisfies it. Open MPI 6 has other names, and warns at
 * length about the old ones. OMPI: Open MPI 4; PRTE: 5 and 6. */
static const char *const defaults[] = {
    "OMPI_MCA_rmaps_base_oversubscribe=1",
    "OMPI_MCA_hwloc_base_binding_policy=none",
    "OMPI_MCA_plm_rsh_agent=false",
    "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy=none",
    "PMIX_MCA_mca_base_suppress_deprecated_warning=1",
    NULL,
};

/* The same for launch: the mpirun has the nodes of the job and binds ranks as without
 * an image. Slurm sets the last two in a job (env.c), but --export may drop them. */
static const char *const launch_defaults[] = {
    "OMPI_MCA_plm_rsh_agent=false",
    "PMIX_MCA_mca_base_suppress_deprecated_warning=1",
    "HYDRA_BOOTSTRAP=slurm",
    "I_MPI_HYDRA_BOOTSTRAP=slurm",
    NULL,
};

/* The number of CPUs of the task; NULL: Slurm does not tell. */
static const char *count_cpus(const struct berth_request *request,
                              char *const *task_env)
{
    const char *cpus = berth_environ_value(task_env, "SLURM_CPUS_PER_TASK");

    if (cpus)
        return cpus;
    if (berth_request_mpi_is(request, BERTH_MODE_LOCAL_EACH))
        return "1";
    return berth_environ_value(task_env, "SLURM_CPUS_ON_NODE");
}

/* Has the user chosen the directory of Open MPI 4, in VARIABLES? */
static bool has_session(const struct berth_strvec *variables)
{
    static const char *const names[] = {"OMPI_MCA_orte_tmpdir_base",
                                        "OMPI_MCA_orte_local_tmpdir_base",
                                        "OMPI_MCA_orte_top_session_dir"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (berth_environ_value(variables->items, names[i]))
            return true;
    return false;
}

/* With Open MPI 4 all mpiruns of a user on a node share the directory
 * TMPDIR/ompi.NODE.UID. The last mpirun removes it; another that starts at that moment
 * has seen the directory and fails (open-mpi/ompi 8510). So each task gets its own
 * directory, unless the user has set one: in /tmp where the container does not have the
 * TMPDIR of the node. */
static void push_session(char *const *task_env, bool has_temporary,
                         struct berth_strvec *ret)
{
    const char *job = berth_environ_value(task_env, "SLURM_JOB_ID");
    const char *step = berth_environ_value(task_env, "SLURM_STEP_ID");
    const char *task = berth_environ_value(task_env, "SLURM_PROCID");
    const char *place = NULL;

    if (!job || !step || !task)
        return;
    if (has_session(ret))
        return;
    if (has_temporary)
        place = berth_environ_value(task_env, "TMPDIR");
    berth_strvec_pushf(ret, "OMPI_MCA_orte_top_session_dir=%s/ompi.%s.%s.%s",
                       berth_text_or(place, "/tmp"), job, step, task);
}

/* Appends those of VARIABLES (ended by NULL) that RET does not have. */
static void push_missing(const char *const *variables, struct berth_strvec *ret)
{
    for (; *variables; variables++)
        if (!berth_environ_value(ret->items, *variables))
            berth_strvec_push(ret, *variables);
}

/* Appends the variables of an mpirun on one node. */
static void push_local(const struct berth_request *request, char *const *task_env,
                       bool has_temporary, struct berth_strvec *ret)
{
    static const char *const slots[] = {"OMPI_MCA_orte_set_default_slots",
                                        "PRTE_MCA_prte_set_default_slots"};
    const char *cpus = count_cpus(request, task_env);

    for (size_t i = 0; cpus && i < sizeof(slots) / sizeof(slots[0]); i++)
        if (!berth_environ_value(ret->items, slots[i]))
            berth_strvec_pushf(ret, "%s=%s", slots[i], cpus);
    push_missing(defaults, ret);
    push_session(task_env, has_temporary, ret);
}

int berth_mpirun_environment(const struct berth_request *request, char *const *task_env,
                             const struct berth_strvec *job, bool has_temporary,
                             struct berth_strvec *ret, struct berth_err *err)
{
    for (char *const *variable = task_env; *variable; variable++) {
        bool is_replaced = job->count > 0 && matches(BERTH_LAUNCHER_JOB "*", *variable);

        if (is_shown(request, *variable) && !is_replaced)
            berth_strvec_push(ret, *variable);
    }
    berth_strvec_append(ret, job);
    if (berth_request_mpi_is(request, BERTH_MODE_LAUNCH))
        push_missing(launch_defaults, ret);
    else
        push_local(request, task_env, has_temporary, ret);
    return berth_err_oom_if(ret->failed, err);
}

void berth_mpirun_job(const struct berth_request *request, char *const *task_env,
                      struct berth_strvec *ret)
{
    if (!berth_request_mpi_is(request, BERTH_MODE_LAUNCH))
        return;
    for (char *const *variable = task_env; *variable; variable++)
        if (matches(BERTH_LAUNCHER_JOB "*", *variable) &&
            !matches(BERTH_LAUNCHER_OURS "*", *variable))
            berth_strvec_push(ret, *variable);
}

int berth_mpirun_descriptor(char *const *task_env)
{
    enum { STREAMS = 3, MOST = 1 << 20 };
    const char *text = berth_environ_value(task_env, "PMI_FD");
    char *end;
    long fd;

    if (!text)
        return -1;
    fd = strtol(text, &end, 10);
    if (end == text || *end != '\0')
        return -1;
    if (fd < STREAMS || fd >= MOST)
        return -1;
    return (int)fd;
}

int berth_mpirun_check_tasks(const struct berth_request *request, unsigned long tasks,
                             struct berth_err *err)
{
    if (tasks < 2)
        return 0;
    if (berth_request_mpi_is(request, BERTH_MODE_LAUNCH))
        return berth_err_set(err,
                             "--mpi-bind=launch: only one task may start an mpirun on "
                             "the job's nodes, but %lu tasks would; use "
                             "-N1 -n1, and tell the mpirun how many ranks to start",
                             tasks);
    if (!berth_request_mpi_is(request, BERTH_MODE_LOCAL))
        return 0;
    return berth_err_set(err,
                         "--mpi-bind=local: only one task may start an mpirun, "
                         "but %lu tasks would; use -n1 -c%lu, or "
                         "--mpi-bind=local-each for an mpirun in every task",
                         tasks, tasks);
}

int berth_mpirun_check_job(const struct berth_request *request, const char *job,
                           struct berth_err *err)
{
    if (!berth_request_mpi_is(request, BERTH_MODE_LAUNCH) || job)
        return 0;
    return berth_err_set(
        err,
        "--mpi-bind=launch: it needs the nodes of a job, and there is no job yet; get "
        "one with sbatch or salloc, and give this option to an srun in that job");
}

int berth_mpirun_check_command(const struct berth_request *request, unsigned long tasks,
                               const char *command, struct berth_err *err)
{
    if (tasks < 2 || !berth_request_mpi_chosen(request) ||
        !berth_mpi_is_starter(command))
        return 0;
    return berth_err_set(err,
                         "--mpi-bind=%s: srun starts the ranks, and each of the %lu "
                         "tasks would start '%s'; leave the mpirun out, or use "
                         "--mpi-bind=local for an mpirun in one task",
                         request->mpi, tasks, command);
}

/* Does srun run the MPIRUN in an image of REQUEST without --mpi-bind? */
static bool is_unsaid(const struct berth_request *request, const char *mpirun)
{
    return berth_request_has_container(request) && !request->mpi &&
           berth_mpi_is_starter(mpirun);
}

bool berth_mpirun_is_repeated(const struct berth_request *request, unsigned long tasks,
                              const char *command, struct berth_err *ret)
{
    if (tasks < 2 || !is_unsaid(request, command))
        return false;
    berth_err_set(ret,
                  "warning: image '%s': each of the %lu tasks starts '%s', and none of "
                  "these knows of the others' ranks; leave it out, as srun starts the "
                  "ranks, or give --mpi-bind=local-each if you want each",
                  berth_request_name(request), tasks, command);
    return true;
}

void berth_mpirun_describe_worlds(const char *who, const char *mpirun,
                                  struct berth_err *ret)
{
    berth_err_set(
        ret,
        "%s '%s', whose ranks do not meet those of other tasks; leave the "
        "mpirun out, as srun starts the ranks, or use --mpi-bind=local for an "
        "mpirun in one task, --mpi-bind=local-each for one in every task",
        who, mpirun);
}

bool berth_mpirun_is_alone(const struct berth_request *request, unsigned long tasks,
                           const char *command)
{
    return tasks == 1 && is_unsaid(request, command);
}

int berth_mpirun_check_bundle(const struct berth_request *request, const char *bundle,
                              struct berth_err *err)
{
    if (!bundle || !*bundle || !berth_request_has_container(request))
        return 0;
    return berth_err_set(
        err,
        "image '%s': Slurm would run the OCI bundle '%s' instead of it "
        "(--container or its variable); leave one of the two out",
        berth_request_name(request), bundle);
}

/* Do the tasks use the library of the image, with hybrid or without --mpi-bind? */
static bool uses_image_mpi(const struct berth_request *request)
{
    return berth_request_has_container(request) &&
           (berth_request_mpi_is(request, BERTH_MODE_HYBRID) ||
            berth_request_mpi_is(request, BERTH_MODE_OFF));
}

/* Do A and B, with modes in which srun starts the ranks, use two libraries in one
 * world? */
static bool is_mixed(const struct berth_request *a, const struct berth_request *b)
{
    enum berth_mode one = berth_mode_of(a->mpi);
    enum berth_mode other = berth_mode_of(b->mpi);

    if (one == BERTH_MODE_AUTO || other == BERTH_MODE_AUTO)
        return false; /* each chooses what the other can meet */
    if (one == BERTH_MODE_HYBRID || other == BERTH_MODE_HYBRID)
        return one != other;
    if (one == BERTH_MODE_NAME && other == BERTH_MODE_NAME)
        return strcmp(a->mpi, b->mpi) != 0;
    return false;
}

/* Ranks with the --mpi-bind ONE and OTHER (NULL: an image without it) never meet. */
static int refuse_worlds(const char *one, const char *other, struct berth_err *err)
{
    BERTH_BUF struct berth_buf have = {0};

    if (other)
        berth_buf_addf(&have, "--mpi-bind=%s", other);
    else
        berth_buf_puts(&have, "an image and no --mpi-bind");
    if (have.failed)
        return berth_err_oom(err);
    return berth_err_set(err,
                         "--mpi-bind=%s: other ranks of this srun have %s, and ranks "
                         "with two MPI libraries wait in MPI_Init forever; give "
                         "--mpi-bind=%s to all, on both sides of ':', or each an srun "
                         "of its own",
                         one, have.text, one);
}

/* Does an mpirun start the ranks of A, or do the ranks of A and B use two libraries? */
static bool never_meets(const struct berth_request *a, const struct berth_request *b)
{
    if (!berth_request_mpi_chosen(b))
        return false;
    if (berth_request_starts_mpirun(a))
        return true;
    return berth_request_mpi_chosen(a) && is_mixed(a, b);
}

/* Does A use the host's library, and B, without --mpi-bind, that of its image? */
static bool is_forgotten(const struct berth_request *a, const struct berth_request *b)
{
    bool uses_host =
        berth_request_mpi_may_host(a) && !berth_request_mpi_is(a, BERTH_MODE_AUTO);

    return uses_host && berth_request_has_container(b) && !b->mpi;
}

/* Refuses two rows that CLASH. */
static int check_pairs(const struct berth_table *table,
                       bool (*clash)(const struct berth_request *a,
                                     const struct berth_request *b),
                       struct berth_err *err)
{
    for (size_t i = 0; i < table->count; i++)
        for (size_t k = 0; k < i; k++) {
            const struct berth_request *a = &table->rows[i].request;
            const struct berth_request *b = &table->rows[k].request;

            if (clash(a, b))
                return refuse_worlds(a->mpi, b->mpi, err);
            if (clash(b, a))
                return refuse_worlds(b->mpi, a->mpi, err);
        }
    return 0;
}

int berth_mpirun_check_table(const struct berth_table *table, bool site_says,
                             struct berth_err *err)
{
    if (check_pairs(table, never_meets, err) < 0)
        return -1;
    if (site_says) /* it may give the others the same */
        return 0;
    return check_pairs(table, is_forgotten, err);
}

/* Do all tasks of a node share a container, so that they make one choice? */
static bool choose_together(const struct berth_table *table)
{
    for (size_t i = 1; i < table->count; i++)
        if (!table->rows[i].ranks ||
            table->rows[i].container != table->rows[0].container)
            return false;
    return true;
}

static bool has_image_mpi(const struct berth_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (uses_image_mpi(&table->rows[i].request))
            return true;
    return false;
}

void berth_mpirun_set_worlds(struct berth_table *table)
{
    const bool is_together = choose_together(table);
    enum berth_world others = BERTH_WORLD_HOST;

    if (has_image_mpi(table))
        others = BERTH_WORLD_OWN;
    for (size_t i = 0; i < table->count; i++) {
        struct berth_request *request = &table->rows[i].request;

        if (is_together || !berth_request_mpi_is(request, BERTH_MODE_AUTO))
            request->world = BERTH_WORLD_ALONE;
        else
            request->world = others;
    }
}

int berth_mpirun_check_mpi_type(const char *type, const char *source,
                                struct berth_err *err)
{
    if (!type || strcmp(type, "pmi2") != 0)
        return 0;
    return berth_err_set(err,
                         "--mpi=pmi2%s: components of one step wait for each other in "
                         "MPI_Init forever, in every release of Slurm; make it a "
                         "heterogeneous job (#SBATCH hetjob, or srun outside a job), "
                         "or use --mpi=pmix if your MPI uses PMIx, --mpi=none if "
                         "you use no MPI",
                         source);
}
