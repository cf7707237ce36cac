/* SPDX-License-Identifier: Apache-2.0 */
/* Decides by slurm.conf and the command line whether the tasks of a step wait for each
 * other, whether Slurm can make one MPI_COMM_WORLD of the components of an srun, and
 * whether it can keep a container for a job. */

#include "spank/mpiworld.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/fd.h"
#include "container/munge.h"
#include "request/defaults.h"
#include "request/mpirun.h"
#include "site/policy.h"
#include "spank/multiproglines.h"
#include "spank/variable.h"

/* MpiDefault of slurm.conf; NULL: slurmctld does not answer. The caller frees it. */
static char *read_default(void)
{
    slurm_conf_t *conf = NULL;
    char *type = NULL;

    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS)
        return NULL;
    if (conf->mpi_default)
        type = strdup(conf->mpi_default);
    slurm_free_ctl_conf(conf);
    return type;
}

/* May jobs have an extern step, which keeps containers? Yes, if slurmctld does not
 * answer: then the node finds out. */
static bool may_have_extern(void)
{
    slurm_conf_t *conf = NULL;
    bool has_extern;

    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS)
        return true;
    has_extern = conf->prolog_flags & PROLOG_FLAG_CONTAIN;
    slurm_free_ctl_conf(conf);
    return has_extern;
}

int berth_mpiworld_check_lifetime(const struct berth_request *request,
                                  struct berth_err *err)
{
    const char *name = request->container_name;
    const bool is_kept = name || request->writable == BERTH_YES;

    if (!berth_request_has_container(request) || !is_kept)
        return 0;
    if (!berth_request_has_job_lifetime(request) || may_have_extern())
        return 0;
    if (name)
        return berth_err_set(err,
                             "--container-name=%s: without PrologFlags=Contain in "
                             "slurm.conf a container ends with its step, and no later "
                             "step would find it; leave the name out, or ask the "
                             "administrators to set it",
                             name);
    return berth_err_set(err,
                         "--container-lifetime=job: without PrologFlags=Contain in "
                         "slurm.conf a container ends with its step, and a later step "
                         "would not find what this one writes; write into a directory "
                         "of the host (--container-mounts)");
}

/* Is this srun in an allocation of one job, where its components become one step? */
static bool is_one_step(void)
{
    return getenv("SLURM_JOB_ID") && !getenv("SLURM_HET_SIZE");
}

/* Slurm has started this srun for MPI_Comm_spawn() of a program in an image. */
static bool is_spawn;

void berth_mpiworld_init(void)
{
    is_spawn = getenv("SLURM_PMI2_SPAWNER_JOBID") && getenv(BERTH_STEP_VARIABLE);
}

/* Is the process above this one an srun? */
static bool is_below_srun(void)
{
    BERTH_BUF struct berth_buf name = {0};
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/comm", getppid());
    return berth_fd_read_path(path, 64, &name) == 0 && name.text &&
           strcmp(name.text, "srun\n") == 0;
}

/* For MPI_Comm_spawn(), Slurm's pmi2 plugin starts an srun as a child of the step's
 * srun (spawn.c in its mpi/pmi2), without the options of the user. Refuse it. The
 * parents would wait for the children without end, so end their step, as Ctrl-C does.
 */
static int check_spawn(const struct berth_table *table, struct berth_err *err)
{
    if (!is_spawn || berth_table_find_container(table))
        return 0;
    if (is_below_srun())
        kill(getppid(), SIGTERM);
    return berth_err_set(err, "MPI_Comm_spawn: Slurm would start the children on the "
                              "host, and not in the image; have the image's own mpirun "
                              "start this program, with --mpi-bind=launch");
}

/* Can a row of TABLE with a container be a part of the step's MPI_COMM_WORLD, with
 * --mpi-bind or without? Not if each task starts an mpirun. */
static bool may_share_world(const struct berth_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (berth_request_has_container(&table->rows[i].request) &&
            !berth_request_starts_mpirun(&table->rows[i].request))
            return true;
    return false;
}

/* Without munge, the image's own MPI cannot connect to Slurm's PMIx server as root in a
 * user namespace, and ends in MPI_Init; with pmi2, or with the host's MPI, it runs.
 * Refuse that if the user has written the TYPE of --mpi: with MpiDefault the program
 * may use no MPI. Whether an image can use munge is known on the node. */
static int check_root(const struct berth_table *table, const char *type,
                      struct berth_err *err)
{
    if (!type || !berth_text_starts(type, "pmix") || berth_munge_is_here())
        return 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct berth_request *request = &table->rows[i].request;

        if (request->root == BERTH_YES && !berth_request_mpi_may_host(request) &&
            !berth_request_starts_mpirun(request))
            return berth_err_set(
                err,
                "--container-remap-root: with --mpi=%s and without munge the "
                "image's own MPI ends in MPI_Init if it runs as root; add "
                "--mpi-bind=host, or leave --container-remap-root out "
                "of this step",
                type);
    }
    return 0;
}

/* Check that the components in TABLE can be one MPI_COMM_WORLD with the type of --mpi
 * that counts: TYPED on the command line (NULL: none), else that of the variable, else
 * the default of slurm.conf. */
static int check_type(const struct berth_table *table, const char *typed,
                      struct berth_err *err)
{
    const char *variable = getenv("SLURM_MPI_TYPE");
    BERTH_FREE char *site = NULL;

    if (table->count < 2 || berth_table_is_multiprog(table))
        return 0;
    if (!is_one_step() || !may_share_world(table))
        return 0;
    if (typed)
        return berth_mpirun_check_mpi_type(typed, "", err);
    if (variable)
        return berth_mpirun_check_mpi_type(variable, " (SLURM_MPI_TYPE)", err);
    site = read_default();
    return berth_mpirun_check_mpi_type(site, " (MpiDefault in slurm.conf)", err);
}

int berth_mpiworld_check(const struct berth_table *table,
                         const struct berth_hetgroups *hetgroups, int optind,
                         struct berth_err *err)
{
    static char *first; /* --mpi of the first component, the only one that counts */
    const char *type = NULL;

    if (check_spawn(table, err) < 0)
        return -1;
    if (table->count == 1)
        berth_hetgroups_find_option(hetgroups, optind, "mpi", &type);
    if (type) {
        free(first);
        first = strdup(type);
        if (!first)
            return berth_err_oom(err);
    }
    if (check_root(table, berth_text_or(first, getenv("SLURM_MPI_TYPE")), err) < 0)
        return -1;
    return check_type(table, first, err);
}

/* The value of option ID in the environment; NULL: it has none. */
static char *default_of(enum berth_option_id id)
{
    char name[BERTH_DEFAULTS_NAME];
    char *value;

    berth_defaults_name(id, name);
    value = getenv(name);
    if (!berth_text_given(value))
        return NULL;
    return value;
}

/* Does ARGUMENT set the image: by our option, or by VARIABLE in --export? */
static bool sets_image(const struct berth_argument *argument, const char *variable)
{
    if (berth_argument_is(argument, "export"))
        return argument->value && strstr(argument->value, variable);
    return berth_argument_is_ours(argument, BERTH_OPTION_IMAGE);
}

bool berth_mpiworld_has_image(const struct berth_typed *typed)
{
    struct berth_arguments arguments = berth_hetgroups_all(typed->line);
    struct berth_argument argument;
    char variable[BERTH_DEFAULTS_NAME];

    berth_defaults_name(BERTH_OPTION_IMAGE, variable);
    if (getenv(BERTH_JOB_VARIABLE) || getenv(variable))
        return true;
    if (!*typed->prefix && getenv("PYXIS_CONTAINER_IMAGE"))
        return true;
    while (berth_arguments_next(&arguments, &argument))
        if (sets_image(&argument, variable))
            return true;
    return false;
}

static enum berth_choice choice_of(bool is_chosen)
{
    if (is_chosen)
        return BERTH_YES;
    return BERTH_NO;
}

/* Without --mpi-bind, a network of --container-libs implies --mpi-bind=hybrid. */
static enum berth_choice choice_in(const struct berth_request *request)
{
    if (request->mpi)
        return choice_of(berth_request_mpi_chosen(request));
    if (berth_libs_need_mpi(request->libs))
        return BERTH_YES;
    return BERTH_UNSAID;
}

/* The same in the default of the job, of one of the groups on the command line. */
static enum berth_choice choice_in_job(const struct berth_typed *typed)
{
    struct berth_hetgroups line = *typed->line;
    enum berth_choice choice;
    int group;

    do {
        BERTH_REQUEST struct berth_request job = {0};

        group = berth_hetgroups_next(&line, (int)line.argv.count);
        if (berth_defaults_job(getenv(BERTH_JOB_VARIABLE), group, &job, NULL) < 0)
            return BERTH_UNSAID;
        choice = choice_in(&job);
    } while (choice != BERTH_YES && group >= 0 && !berth_hetgroups_ended(&line));
    return choice;
}

/* The same on the command line. */
static enum berth_choice choice_typed(const struct berth_typed *typed)
{
    struct berth_arguments arguments = berth_hetgroups_all(typed->line);
    struct berth_argument argument;
    struct berth_request request = {0}; /* borrows */

    while (berth_arguments_next(&arguments, &argument)) {
        if (berth_argument_is_ours(&argument, BERTH_OPTION_MPI))
            request.mpi = (char *)berth_text_or(argument.value, "auto");
        else if (berth_argument_is_ours(&argument, BERTH_OPTION_LIBS))
            request.libs = (char *)argument.value;
    }
    return choice_in(&request);
}

/* Do --mpi-bind and --container-libs make one MPI_COMM_WORLD of the tasks? The
 * command line wins over the environment, and that over the default of the job. */
static enum berth_choice asks_for_mpi(const struct berth_typed *typed)
{
    const struct berth_request environment = {.mpi = default_of(BERTH_OPTION_MPI),
                                              .libs = default_of(BERTH_OPTION_LIBS)};
    enum berth_choice choice = choice_typed(typed);

    if (choice == BERTH_UNSAID)
        choice = choice_in(&environment);
    if (choice == BERTH_UNSAID)
        choice = choice_in_job(typed);
    return choice;
}

/* Does a --multi-prog file name an image or a mode of --mpi-bind? */
static bool has_lines(const struct berth_typed *typed)
{
    return berth_lines_mention(typed->line, "container-image") ||
           berth_lines_mention(typed->line, "mpi-bind");
}

bool berth_mpiworld_ends_together(const struct berth_typed *typed,
                                  const struct berth_site *site)
{
    enum berth_choice asked = asks_for_mpi(typed);

    if (berth_strvec_has(&typed->line->argv, ":"))
        return berth_mpiworld_has_image(typed);
    if (has_lines(typed) || asked == BERTH_YES)
        return true;
    return site && berth_policy_may_join_ranks(site, asked);
}
