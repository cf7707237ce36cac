/* SPDX-License-Identifier: Apache-2.0 */
/* In srun, sbatch and salloc: makes a table of the requests of all components from
 * their options, and publishes it. Slurm calls init once; then, for each component, the
 * callbacks of its options and init_post_opt; at last, in srun, local_user_init once.
 */

#include "spank/plugin.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/text.h"
#include "site/digest.h"
#include "site/plugstack.h"
#include "site/site.h"
#include "request/bundle.h"
#include "request/components.h"
#include "request/defaults.h"
#include "request/capture.h"
#include "request/hetgroup.h"
#include "request/misnamed.h"
#include "request/mpirun.h"
#include "request/option.h"
#include "request/script.h"
#include "request/streams.h"
#include "site/policy.h"
#include "request/wire.h"
#include "site/siteread.h"
#include "spank/resubmit.h"
#include "spank/explained.h"
#include "spank/exported.h"
#include "spank/multiproglines.h"
#include "spank/hetjob.h"
#include "spank/container.h"
#include "spank/options.h"
#include "spank/commandline.h"
#include "spank/variable.h"
#include "spank/mpiworld.h"
#include "image/lookup.h"
#include "image/store.h"
#include "ipc/stepmark.h"
#include "site/rules.h"

extern char **environ;

/* srun's variable for --kill-on-bad-exit. */
#define KILL_ON_BAD_EXIT "SLURM_KILL_BAD_EXIT"

/* The state between callbacks, which have no argument for it. */
static struct {
    struct berth_settings settings;
    struct berth_site site; /* read when a component asks for an image */
    bool site_is_read;
    struct berth_request options;     /* the options of the component being read, */
    struct berth_request script;      /* and in sbatch those of its #SBATCH lines */
    struct berth_export export;       /* its --export */
    struct berth_request job;         /* in sbatch, salloc: options by environment */
    struct berth_table known;         /* of an sbatch that started again */
    struct berth_table table;         /* the requests of the components read so far */
    struct berth_hetgroups hetgroups; /* the command line */
    struct berth_err settings_error;  /* an error in plugstack.conf; text "": none */
    struct berth_err option_error;    /* the first wrong option; text "": none */
    const char *file_without_notes;   /* of find_streams(), of a component with an
                                         image; NULL: there is none */
    const char *bundle;               /* of a component of srun, an OCI bundle as
                                         Slurm's own --container; NULL: there is none */
    struct berth_buf text;            /* of the script of sbatch, if it can be read */
    char *container;                  /* find_script_container(), owned */
    bool is_named;                    /* sbatch has an image by an option */
    bool is_taken;                    /* take_container() has an image */
    bool is_run;                      /* a component is `berth run` */
    bool kill_is_ours;                /* this plugin has set KILL_ON_BAD_EXIT */
} state;

/* End the command with one line, also under --quiet. An error that a callback returns
 * makes Slurm print a second line, and Slurm ignores it if plugstack.conf says
 * `optional`: the job would run on the host. */
static void refuse(struct berth_err *err)
{
    berth_spell_options(state.settings.option_prefix, err);
    fprintf(stderr, "%s: error: berth: %s\n", program_invocation_short_name, err->text);
    exit(EXIT_FAILURE);
}

/* Return the ERROR of an earlier callback; 0 if its text is "". */
static int raise_error(const struct berth_err *error, struct berth_err *err)
{
    if (!*error->text)
        return 0;
    *err = *error;
    return -1;
}

static bool is_sbatch(void)
{
    return spank_context() == S_CTX_ALLOCATOR &&
           strcmp(program_invocation_short_name, "salloc") != 0;
}

/* The request for the option ID with VALUE, which has just been read: that of the
 * command line, or that of the script. sbatch reads the script's options before its
 * own, with the same callbacks. */
static struct berth_request *origin(enum berth_option_id id, const char *value)
{
    if (!is_sbatch() || berth_hetgroups_is_typed(&state.hetgroups, optind, id, value))
        return &state.options;
    return &state.script;
}

/* The callback of each option. An error waits for the end of the component, because
 * Slurm would add lines to it here (see refuse()). */
static int read_option(int id, const char *value, int remote)
{
    struct berth_err *error = &state.option_error;
    BERTH_FREE char *directory = NULL;

    if (remote || *error->text)
        return 0;
    if (id >= BERTH_OPTION_COUNT) {
        berth_pyxis_check(&berth_options[id], error);
        return 0;
    }
    directory = getcwd(NULL, 0);
    if (berth_request_parse(origin((enum berth_option_id)id, value),
                            (enum berth_option_id)id, value, directory, error) < 0)
        berth_err_at(error, "--%s", berth_options[id].name);
    return 0;
}

/* Slurm passes the options of sbatch to srun by variables, with only the last of
 * several mounts. srun reads BERTH_JOB_VARIABLE in place of them. */
static spank_err_t unset_copy(spank_t sp, const char *name)
{
    char copy[256];

    (void)sp;
    snprintf(copy, sizeof(copy), "SLURM_SPANK_%s", name);
    unsetenv(copy);
    return ESPANK_SUCCESS;
}

static void read_command_line(void)
{
    enum { LONGEST = 4 << 20 }; /* bytes; above the kernel's limit of arguments */
    BERTH_BUF struct berth_buf line = {0};

    berth_fd_read_path("/proc/self/cmdline", LONGEST, &line);
    berth_hetgroups_init(&state.hetgroups, state.settings.option_prefix, line.text,
                         line.used);
}

/* In sbatch and salloc: read the options by environment into the default of the job,
 * and unset their variables: in the job, these would win over the options of sbatch. */
static void read_job_environment(void)
{
    struct berth_strvec nothing = {0};
    BERTH_FREE char *directory = getcwd(NULL, 0);

    unsetenv(BERTH_JOB_VARIABLE);
    berth_defaults_parse(environ, &nothing, directory, &state.job, &state.option_error);
    for (int id = 0; id < BERTH_OPTION_COUNT; id++) {
        char name[BERTH_DEFAULTS_NAME];

        berth_defaults_name((enum berth_option_id)id, name);
        unsetenv(name);
    }
}

/* The image in which this command itself runs; NULL: it runs on a host. */
static const char *outer_image(void)
{
    return berth_text_or(getenv(BERTH_OUTER_APPTAINER),
                         getenv(BERTH_OUTER_SINGULARITY));
}

/* Read berth.yaml, once, for a component that asks for an image. In an image, whose
 * files are the user's, the defaults hold; the nodes apply the site's policy anyway. */
static int read_site(struct berth_err *err)
{
    if (raise_error(&state.settings_error, err) < 0)
        return -1;
    if (state.site_is_read)
        return 0;
    if (outer_image())
        state.site = berth_site_default();
    else if (berth_site_read(state.settings.config, berth_site_owner(), &state.site,
                             err) < 0)
        return -1;
    state.site_is_read = true;
    return 0;
}

/* May the site set --mpi-bind if the user does not? */
static bool site_says_mpi(void)
{
    return outer_image() || berth_policy_may_set_mpi(&state.site);
}

/* What the user typed for a component with REQUEST; NULL: its options are not known
 * yet. */
static struct berth_typed typed(const struct berth_request *request)
{
    return (struct berth_typed){
        .line = &state.hetgroups,
        .optind = optind,
        .caller = program_invocation_short_name,
        .prefix = state.settings.option_prefix,
        .is_contained = request && berth_request_has_container(request),
    };
}

/* srun reads this variable, while it reads its options, as the default of
 * --kill-on-bad-exit. end_step() unsets it, so that tasks do not get it. An error of
 * berth.yaml is reported when the component ends. */
static void set_kill_on_bad_exit(void)
{
    const struct berth_typed line = typed(NULL);
    const struct berth_site *site = NULL;
    struct berth_err err;

    if (berth_mpiworld_has_image(&line) && read_site(&err) == 0)
        site = &state.site;
    if (getenv(KILL_ON_BAD_EXIT) || !berth_mpiworld_ends_together(&line, site))
        return;
    state.kill_is_ours = setenv(KILL_ON_BAD_EXIT, "1", 0) == 0;
}

/* Warn of variables that ask for an option in vain. */
static void warn_misnamed(void)
{
    struct berth_err sentence;

    for (char **variable = environ; variable && *variable; variable++)
        if (berth_misnamed_is(*variable, &sentence))
            berth_commandline_warn(state.settings.option_prefix, &sentence);
}

int berth_local_init(spank_t sp, int count, char **arguments)
{
    berth_settings_read(count, arguments, &state.settings, &state.settings_error);
    berth_mpiworld_init();
    berth_variable_unset_all(NULL);
    unsetenv(BERTH_BUNDLE_HOST); /* of an outer step */
    if (spank_context() == S_CTX_LOCAL)
        berth_hetjob_forget();
    read_command_line();
    if (is_sbatch())
        berth_resubmit_init(&state.known, &state.option_error);
    berth_container_init();
    if (state.known.count == 0) /* else the first start of this sbatch has warned */
        warn_misnamed();
    if (spank_context() == S_CTX_ALLOCATOR)
        read_job_environment();
    else
        set_kill_on_bad_exit();
    berth_options_remove(sp, state.settings.option_prefix, unset_copy);
    return berth_options_register(sp, state.settings.option_prefix, &state.hetgroups,
                                  read_option);
}

/* ENVIRONMENT as for berth_policy_check_early(). */
static int check_component(struct berth_request *request, char *const *environment,
                           struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec notes = {0};

    if (!berth_request_has_container(request))
        return 0;
    berth_request_note_ignored(request, &notes);
    if (notes.count > 0)
        slurm_info("berth: note: %s", notes.items[0]);
    if (read_site(err) < 0 || berth_lookup_word(&state.site, request, err) < 0)
        return -1;
    if (berth_policy_check_early(&state.site, request, environment, err) < 0 ||
        berth_mpiworld_check_lifetime(request, err) < 0)
        return -1;
    return berth_commandline_image(&state.site, state.settings.option_prefix, request,
                                   err);
}

/* Set VARIABLE to TABLE; NULL: unset it. */
static int publish(const char *variable, const struct berth_table *table,
                   struct berth_err *err)
{
    BERTH_FREE char *text = NULL;

    if (table && berth_wire_put_table(table, &text, err) < 0)
        return -1;
    return berth_variable_publish(variable, text, err);
}

/* Publish what slurmstepd needs as root, when it does not yet read the table. */
static int publish_for_root(struct berth_err *err)
{
    const unsigned int count = state.table.containers;
    const char *containers = NULL; /* one */
    char text[16];

    if (count > 1) {
        snprintf(text, sizeof(text), "%u", count);
        containers = text;
    }
    if (berth_variable_publish(BERTH_CONTAINERS_VARIABLE, containers, err) < 0)
        return -1;
    return berth_variable_publish(BERTH_LIFETIME_VARIABLE,
                                  berth_table_lifetime(&state.table), err);
}

/* The value of --export for the component that has been read, with srun's precedence;
 * NULL: it is not set. "" (drop everything) if the command line cannot be read. */
static const char *export_value(void)
{
    const char *value = NULL;

    if (state.hetgroups.argv.count == 0)
        return "";
    if (berth_hetgroups_find_option(&state.hetgroups, optind, "export", &value))
        return value;
    return berth_text_or(getenv("SRUN_EXPORT_ENV"), getenv("SLURM_EXPORT_ENV"));
}

/* Read the options by environment of the component: from srun's environment, and from
 * the assignments of --export. */
static int read_environment(struct berth_request *ret, struct berth_err *err)
{
    BERTH_FREE char *directory = getcwd(NULL, 0);

    berth_export_fini(&state.export);
    if (berth_export_read(export_value(), &state.export, err) < 0)
        return -1;
    return berth_defaults_parse(environ, &state.export.assigned, directory, ret, err);
}

/* For --container-explain: print where each option comes from, which nodes do not see.
 */
static void log_sources(const struct berth_request *asked,
                        const struct berth_request *job)
{
    BERTH_STRVEC struct berth_strvec sentences = {0};

    berth_defaults_sources(&state.options, asked, job, &sentences);
    for (size_t i = 0; i < sentences.count; i++)
        slurm_info("berth: component %zu: %s", state.table.count, sentences.items[i]);
}

/* The value of Slurm's own --container, an OCI bundle, for the component; NULL: none,
 * or an image that take_container() has taken. */
static const char *find_bundle(void)
{
    const bool is_first = state.table.count == 0;
    bool is_typed;

    if (state.is_taken)
        return NULL;
    return berth_container_value(&state.hetgroups, optind, is_first, &is_typed);
}

/* The value of --container in #SBATCH lines of a later component of sbatch, whose
 * variable has that of the first one; NULL: none. */
static const char *find_script_container(void)
{
    const size_t component = state.table.count;
    const struct berth_typed line = typed(NULL);

    if (!is_sbatch())
        return NULL;
    /* the script is an argument of the first component alone */
    if (!state.text.text)
        berth_commandline_script(&line, &state.text);
    if (component == 0)
        return NULL;
    free(state.container);
    state.container = berth_script_container(berth_buf_text(&state.text), component);
    return berth_text_given(state.container);
}

/* Take an image as Slurm's own --container for that of the component, where berth runs
 * it. In sbatch Slurm runs the script itself in it. */
static int take_container(struct berth_err *err)
{
    const bool is_first = state.table.count == 0;
    const enum berth_choice script = state.script.script;
    bool is_typed;
    const char *of_script = find_script_container();
    const char *value =
        berth_container_value(&state.hetgroups, optind, is_first, &is_typed);

    if (!value)
        value = of_script;
    state.is_taken =
        value && berth_container_is_image(value) && berth_container_is_ours();
    if (!state.is_taken)
        return 0;
    if (!is_typed && state.options.image)
        return 0;
    if (is_sbatch() && is_first && state.options.script == BERTH_UNSAID &&
        script == BERTH_UNSAID)
        state.options.script = BERTH_YES;
    return berth_container_take(value, &state.options, err);
}

/* Refuse an OCI bundle of a component beside an image of another one. berth-oci cannot
 * know the component of a task, and Slurm passes one --container of all of them. */
static int check_bundles(struct berth_err *err)
{
    const char *bundle = find_bundle();

    if (bundle)
        state.bundle = bundle;
    if (!state.bundle || !berth_table_find_container(&state.table) ||
        !berth_container_is_ours())
        return 0;
    return berth_err_set(err,
                         "--container=%s is an OCI bundle, and another component of "
                         "this step has an image; start one of the two with an srun of "
                         "its own",
                         state.bundle);
}

/* Refuse --container-script outside of sbatch. */
static int check_script(struct berth_err *err)
{
    if (state.options.script == BERTH_UNSAID || is_sbatch())
        return 0;
    return berth_err_set(err, "--container-script: only sbatch has a script; leave it "
                              "out, the command itself runs in the image");
}

/* Add the variables of pyxis to REQUEST and to ASKED, the options by environment. With
 * a prefix of its options berth is beside pyxis, which reads its own variables. */
static int add_pyxis(struct berth_request *request, struct berth_request *asked,
                     struct berth_err *err)
{
    BERTH_FREE char *directory = getcwd(NULL, 0);

    if (*state.settings.option_prefix)
        return 0;
    return berth_defaults_add_pyxis(environ, &state.export.assigned, directory, request,
                                    asked, err);
}

/* The component's own options win over its environment, that wins over the default of
 * GROUP of the job, and that over the variables of pyxis. */
static int merge_step(int group, struct berth_request *ret, struct berth_err *err)
{
    BERTH_REQUEST struct berth_request job = {0};
    BERTH_REQUEST struct berth_request asked = {0};

    if (raise_error(&state.option_error, err) < 0 || check_script(err) < 0)
        return -1;
    if (berth_defaults_job(getenv(BERTH_JOB_VARIABLE), group, &job, err) < 0 ||
        read_environment(&asked, err) < 0)
        return -1;

    /* the last one wins, and pyxis gets what nobody has set */
    if (berth_request_merge(ret, &job, err) < 0 ||
        berth_request_merge(ret, &asked, err) < 0 ||
        berth_request_merge(ret, &state.options, err) < 0)
        return -1;
    if (add_pyxis(ret, &asked, err) < 0)
        return -1;

    ret->script = BERTH_UNSAID;
    if (berth_request_is_explained(ret) && berth_request_has_container(ret))
        log_sources(&asked, &job);
    return 0;
}

/* Check REQUEST, of the component or of a line of its --multi-prog file, and pull its
 * image. A request without an image becomes empty. The environment of the tasks is
 * known here if --export does not change it. */
static int check_step(struct berth_request *request, unsigned long tasks,
                      struct berth_err *err)
{
    char *const *environment = NULL;

    if (state.export.all && state.export.assigned.count == 0)
        environment = environ;
    if (!berth_request_has_container(request))
        berth_request_fini(request);
    if (check_component(request, environment, err) < 0)
        return -1;
    if (berth_mpirun_check_bundle(request, find_bundle(), err) < 0 ||
        berth_mpirun_check_tasks(request, tasks, err) < 0 ||
        berth_mpirun_check_job(request, getenv("SLURM_JOB_ID"), err) < 0)
        return -1;
    return berth_commandline_pull(&state.site, request, err);
}

/* Refuses options of the command line, DEFAULTS, that need an image if no line has one.
 */
static int check_defaults(const struct berth_request *defaults, struct berth_err *err)
{
    if (berth_table_find_container(&state.table))
        return 0;
    if (berth_request_has_container(defaults) && berth_request_is_explained(defaults))
        return berth_err_set(err, "--container-explain: no line of the --multi-prog "
                                  "file runs in an image; name an image");
    return berth_request_check(defaults, err);
}

/* Add a row for each line. A file without lines gets an empty row: Slurm refuses the
 * file after this callback. HAS_OPTIONS: the component has options of its own. */
static int add_lines(int group, const struct berth_typed *line,
                     const struct berth_request *merged, bool has_options,
                     struct berth_err *err)
{
    struct berth_request nothing = {0};

    if (berth_lines_read(line, merged, &state.table, check_step, err) < 0)
        return -1;
    if (has_options && check_defaults(merged, err) < 0)
        return -1;
    if (state.table.count > 0)
        return 0;
    return berth_table_add(&state.table, group, NULL, &nothing, err);
}

/* Add a row for the component, or one for each line of its --multi-prog file. */
static int add_component(int group, struct berth_request *merged, bool has_options,
                         struct berth_err *err)
{
    const struct berth_typed line = typed(merged);
    const unsigned long tasks = berth_hetgroups_tasks(&state.hetgroups, optind);
    const bool has_others =
        state.table.count > 0 || !berth_hetgroups_ended(&state.hetgroups);

    if (berth_lines_file(&line))
        return add_lines(group, &line, merged, has_options, err);
    if (has_options && has_others && berth_request_only_explains(merged))
        return berth_table_add(&state.table, group, NULL, merged, err);
    if (has_options && berth_request_check(merged, err) < 0)
        return -1;
    if (check_step(merged, tasks, err) < 0)
        return -1;
    return berth_table_add(&state.table, group, NULL, merged, err);
}

/* Find, for the rows of the component, those from FIRST on, whether standard output and
 * error of its tasks are one file, in which tasks print no notes. */
static void find_streams(size_t first)
{
    const char *file =
        berth_streams_file(&state.hetgroups, optind, getenv("SLURM_STDOUTMODE"),
                           getenv("SLURM_STDERRMODE"));

    if (!file)
        return;
    for (size_t i = first; i < state.table.count; i++) {
        struct berth_row *row = &state.table.rows[i];

        row->is_one_file = true;
        if (berth_request_has_container(&row->request))
            state.file_without_notes = file;
    }
}

/* Has one of the rows from FIRST on a container? */
static bool has_container_from(size_t first)
{
    for (size_t i = first; i < state.table.count; i++)
        if (berth_request_has_container(&state.table.rows[i].request))
            return true;
    return false;
}

/* Collect what --export drops for the rows of the component, those from FIRST on. Lines
 * of a --multi-prog file have the same. */
static int gather_environment(size_t first, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec found = {0};

    if (!has_container_from(first))
        return 0;
    if (berth_exported_gather(&state.site, &state.export, &found, err) < 0)
        return -1;
    for (size_t i = first; i < state.table.count; i++) {
        struct berth_row *row = &state.table.rows[i];

        if (berth_request_has_container(&row->request))
            berth_strvec_append(&row->restore, &found);
    }
    return 0;
}

/* Refuse --container-explain if no component has an image: it was left to the last. */
static int check_explained(struct berth_err *err)
{
    if (berth_table_find_container(&state.table))
        return 0;
    for (size_t i = 0; i < state.table.count; i++)
        if (berth_request_check(&state.table.rows[i].request, err) < 0)
            return -1;
    return 0;
}

/* After the last component. */
static void end_step(void)
{
    if (state.kill_is_ours)
        unsetenv(KILL_ON_BAD_EXIT);
    for (size_t i = 0; i < state.table.count; i++) {
        struct berth_row *row = &state.table.rows[i];

        berth_strvec_fini(&row->job);
        berth_mpirun_job(&row->request, environ, &row->job);
    }
}

/* Publish what this host decides about MPI, for the nodes to compare. In an image,
 * whose files are the user's, nothing is known of that. */
static int publish_site(struct berth_err *err)
{
    const bool has_opinion = berth_table_find_container(&state.table) &&
                             !outer_image() &&
                             state.site.mpi.compare == BERTH_COMPARE_YES;
    char digest[BERTH_DIGEST_SIZE];
    char host[256] = "";
    char text[sizeof(digest) + sizeof(host)];

    if (!has_opinion || gethostname(host, sizeof(host) - 1) < 0)
        return berth_variable_publish(BERTH_SITE_VARIABLE, NULL, err);
    if (berth_digest_of(&state.site, berth_site_owner(), digest, err) < 0)
        return -1;
    snprintf(text, sizeof(text), "%s %s", digest, host);
    return berth_variable_publish(BERTH_SITE_VARIABLE, text, err);
}

/* Publish that berth-oci, which Slurm starts for --container, is to run the tasks on
 * the host: no component has an image. */
static int publish_host(struct berth_err *err)
{
    const char *value = NULL;

    if (state.is_taken && !berth_table_find_container(&state.table))
        value = "1";
    return berth_variable_publish(BERTH_BUNDLE_HOST, value, err);
}

/* Check the components read so far together; those from FIRST on are new. */
static int check_table(size_t first, struct berth_err *err)
{
    if (berth_table_explain(&state.table, err) < 0)
        return -1;
    if (berth_mpirun_check_table(&state.table, site_says_mpi(), err) < 0 ||
        berth_mpiworld_check(&state.table, &state.hetgroups, optind, err) < 0)
        return -1;
    if (gather_environment(first, err) < 0)
        return -1;
    find_streams(first);
    berth_mpirun_set_worlds(&state.table);
    if (!berth_table_has_groups(&state.table) && !berth_table_is_uniform(&state.table))
        return berth_err_set(
            err, "the components differ, and berth cannot read the value of "
                 "--het-group; write numbers: --het-group=0,2-3");
    return 0;
}

/* The last component has been read. */
static int end_components(struct berth_err *err)
{
    if (check_explained(err) < 0)
        return -1;
    end_step();
    /* In a job the components are known now. Slurm 26.05 takes the environment of
     * the first one before berth_local_launch(). */
    if (berth_table_find_container(&state.table))
        berth_hetjob_tell();
    return 0;
}

static int publish_step(struct berth_err *err)
{
    const struct berth_table *table = NULL;

    if (berth_table_find_container(&state.table))
        table = &state.table;
    if (publish_for_root(err) < 0 || publish_site(err) < 0 || publish_host(err) < 0)
        return -1;
    return publish(BERTH_STEP_VARIABLE, table, err);
}

static int end_step_component(int group, struct berth_err *err)
{
    BERTH_REQUEST struct berth_request merged = {0};
    size_t first = state.table.count;
    struct berth_typed line;
    bool has_options;

    if (take_container(err) < 0)
        return -1;
    has_options = berth_request_has_options(&state.options);
    line = typed(NULL);
    if (merge_step(group, &merged, err) < 0)
        return -1;
    if (berth_commandline_is_run(&line)) {
        state.is_run = true;
        if (!has_options)
            berth_request_fini(&merged);
    }
    line = typed(&merged);
    berth_request_fini(&state.options);

    if (berth_commandline_step(&line, find_bundle(), err) < 0 ||
        add_component(group, &merged, has_options, err) < 0 || check_bundles(err) < 0 ||
        check_table(first, err) < 0)
        return -1;
    if (berth_hetgroups_ended(&state.hetgroups) && end_components(err) < 0)
        return -1;
    return publish_step(err);
}

/* Does a component choose its MPI on the nodes, of which a note is all that tells? */
static bool has_choice(void)
{
    for (size_t i = 0; i < state.table.count; i++)
        if (berth_request_mpi_is(&state.table.rows[i].request, BERTH_MODE_AUTO))
            return true;
    return false;
}

/* Print that tasks print no notes: where the user misses one, or with -v, any. */
static void print_file_without_notes(void)
{
    static const char note[] =
        "berth: note: standard error goes to '%s', too, so tasks print no notes of "
        "berth; give another file with -e to have them";

    if (!state.file_without_notes)
        return;
    if (has_choice())
        slurm_info(note, state.file_without_notes);
    else
        slurm_verbose(note, state.file_without_notes);
}

/* Print what the user may not expect, and what `srun -v` shows. */
static void print_notes(void)
{
    struct berth_err moved, last = {0};

    if (outer_image() && berth_table_find_container(&state.table))
        slurm_info("berth: note: this srun runs in '%s'; its tasks get their own "
                   "image, and none of that image's mounts",
                   outer_image());
    for (size_t i = 0; i < state.table.count; i++)
        if (berth_store_has_moved(&state.table.rows[i].request, &moved) &&
            strcmp(moved.text, last.text) != 0) {
            slurm_info("berth: note: %s", moved.text);
            last = moved;
        }
    print_file_without_notes();
    berth_exported_log(&state.site, &state.table);
}

/* Does this srun put berth-task into the lines of a --multi-prog file? On a newer Slurm
 * the plugin in slurmstepd puts it before the command. */
static bool prefixes_lines(void)
{
    const bool is_old = SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 11, 0);

    if (!is_old || !berth_table_is_multiprog(&state.table))
        return false;
    return berth_table_find_container(&state.table);
}

int berth_local_launch(spank_t sp)
{
    const bool has_image = berth_table_find_container(&state.table);
    struct berth_err err;

    if (has_image)
        berth_hetjob_tell();
    if (has_image || state.is_run)
        berth_stepmark_send(getenv("SLURM_JOB_ID"));
    print_notes();
    if (prefixes_lines() && berth_lines_prefix(sp, &err) < 0)
        refuse(&err);
    berth_explained_begin(&state.table);
    return 0;
}

void berth_local_end(void)
{
    berth_explained_end();
}

int berth_local_step(void)
{
    struct berth_err err;

    if (end_step_component(berth_hetgroups_next(&state.hetgroups, optind), &err) < 0)
        refuse(&err);
    return 0;
}

/* Does the script of a job with REQUEST run in the image, as far as this host knows:
 * does sbatch ask for that, or the site for all jobs? */
static bool script_runs_in_image(const struct berth_request *request)
{
    if (request->script != BERTH_UNSAID)
        return request->script == BERTH_YES;
    return state.site_is_read && berth_rules_default(&state.site, BERTH_OPTION_SCRIPT);
}

/* Does REQUEST say which container, by an image or by a name? */
static bool names_container(const struct berth_request *request)
{
    return request->image || request->container_name;
}

/* Refuse what a script with REQUEST cannot have if it runs in the image: when it
 * begins, its job has no container yet, and slurmstepd waits for no image after it. */
static int check_script_container(const struct berth_request *request,
                                  struct berth_err *err)
{
    if (!is_sbatch() || !script_runs_in_image(request))
        return 0;
    if (request->container_name && !request->image)
        return berth_err_set(err,
                             "--container-name=%s: the batch script begins the job, "
                             "which has no such container; add --container-image "
                             "(containers end with their job: see --container-save)",
                             request->container_name);
    if (request->save)
        return berth_err_set(err, "--container-save: only a step saves its container; "
                                  "write srun --container-save in the script, with "
                                  "--container-name here for what the script writes");
    return 0;
}

/* Read the options of a component of sbatch or salloc into *RET, and check them, unless
 * an earlier start of this sbatch did. As for Slurm's own options, the environment wins
 * over the script, and the command line over both (sbatch(1)). */
static int read_job_component(struct berth_request *ret, struct berth_err *err)
{
    const size_t at = state.table.count;
    const bool is_first = at == 0;
    struct berth_typed line;
    bool is_named, needs_image;

    if (take_container(err) < 0)
        return -1;
    is_named = names_container(&state.options) || names_container(&state.script);
    needs_image = is_named || state.options.script == BERTH_YES ||
                  state.script.script == BERTH_YES;
    if (is_first && is_named)
        state.is_named = true;
    if (at < state.known.count)
        return berth_request_merge(ret, &state.known.rows[at].request, err);

    if (raise_error(&state.option_error, err) < 0 || check_script(err) < 0)
        return -1;
    if (berth_request_merge(ret, &state.script, err) < 0 ||
        berth_request_merge(ret, &state.job, err) < 0 ||
        berth_request_merge(ret, &state.options, err) < 0)
        return -1;
    if (check_component(ret, NULL, err) < 0)
        return -1;
    if (needs_image && berth_request_check(ret, err) < 0)
        return -1;
    if (is_first && check_script_container(ret, err) < 0)
        return -1;
    if (berth_commandline_pull(&state.site, ret, err) < 0)
        return -1;

    if (!is_first)
        return 0;
    line = typed(ret);
    line.is_named = is_named && !script_runs_in_image(ret);
    return berth_commandline_job(&line, find_bundle(), err);
}

/* Publish what slurmstepd needs as root before a script with REQUEST of sbatch: whether
 * the job has an image, and whether it keeps the container of the script. */
static int publish_batch(const struct berth_request *request, struct berth_err *err)
{
    const char *image = NULL;
    const char *lifetime = NULL;

    if (is_sbatch() && state.is_named)
        image = "1";
    if (is_sbatch() && request->container_name)
        lifetime = BERTH_LIFETIME_JOB;
    if (berth_variable_publish(BERTH_BATCH_VARIABLE, image, err) < 0)
        return -1;
    return berth_variable_publish(BERTH_LIFETIME_VARIABLE, lifetime, err);
}

/* In sbatch, where only the environment after the first component counts: if the
 * options of the last component differ from those before, start sbatch once more with
 * all of them (spank/resubmit.h). IS_KNOWN: that has been done. */
static int resubmit_if_unlike(bool is_known, struct berth_err *err)
{
    const struct berth_row *last = &state.table.rows[state.table.count - 1];
    const struct berth_row *before = &state.table.rows[state.table.count - 2];

    if (is_known || berth_request_equal(&before->request, &last->request))
        return 0;
    return berth_resubmit(&state.hetgroups, optind, &state.table, err);
}

/* Publish the defaults of the job, after each of its components. */
static int publish_job(struct berth_err *err)
{
    const size_t count = state.table.count;
    const struct berth_request *last = &state.table.rows[count - 1].request;
    const bool is_known = state.known.count >= count;

    if (count == 1 && publish_batch(last, err) < 0)
        return -1;
    if (count > 1 && is_sbatch())
        return resubmit_if_unlike(is_known, err);
    if (is_known)
        return publish(BERTH_JOB_VARIABLE, &state.known, err);
    if (berth_request_has_options(last) || getenv(BERTH_JOB_VARIABLE))
        return publish(BERTH_JOB_VARIABLE, &state.table, err);
    return publish(BERTH_JOB_VARIABLE, NULL, err);
}

static int end_job_component(struct berth_err *err)
{
    BERTH_REQUEST struct berth_request merged = {0};

    berth_hetgroups_next(&state.hetgroups, optind);
    if (read_job_component(&merged, err) < 0)
        return -1;
    berth_container_restore();
    berth_request_fini(&state.options);
    berth_request_fini(&state.script);
    if (berth_table_add(&state.table, (int)state.table.count, NULL, &merged, err) < 0)
        return -1;
    return publish_job(err);
}

int berth_local_job(spank_t sp)
{
    struct berth_err err;

    /* Slurm would keep the options for the next component, and for the job. */
    berth_options_remove(sp, state.settings.option_prefix, spank_job_control_unsetenv);
    if (end_job_component(&err) < 0)
        refuse(&err);
    return 0;
}
