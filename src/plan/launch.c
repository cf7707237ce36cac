/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the command line of the runtime from a request. */

#include "plan/launch.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/text.h"
#include "request/mount.h"
#include "request/named.h"
#include "request/option.h"
#include "request/path.h"
#include "site/mountrules.h"

/* `--mount` takes a CSV record, so that a path with a colon stays one path; a quote
 * inside a quoted field is doubled (RFC 4180). */
static void put_quoted(struct berth_buf *buf, const char *key, const char *path)
{
    berth_buf_addf(buf, ",\"%s", key);
    for (; *path; path++) {
        if (*path == '"')
            berth_buf_puts(buf, "\"");
        berth_buf_add(buf, path, 1);
    }
    berth_buf_puts(buf, "\"");
}

static void push_mount(const char *source, const char *destination,
                       enum berth_mount_mode mode, struct berth_strvec *argv)
{
    BERTH_BUF struct berth_buf record = {0};

    berth_buf_puts(&record, "type=bind");
    put_quoted(&record, "source=", source);
    put_quoted(&record, "destination=", destination);
    if (mode == BERTH_MOUNT_SQSH)
        berth_buf_puts(&record, ",image-src=/");
    if (mode != BERTH_MOUNT_RW)
        berth_buf_puts(&record, ",ro");
    argv->failed |= record.failed;
    if (!record.text)
        return;
    berth_strvec_push(argv, "--mount");
    berth_strvec_push(argv, record.text);
}

/* Has the clean path PLACE the name of such a directory: pmix.JOB.STEP, or
 * mpi_cray_shasta/JOB.STEP? */
static bool has_managers_name(const char *place)
{
    static const char parent[] = "/mpi_cray_shasta";
    const char *name = strrchr(place, '/');
    size_t above;

    if (!name)
        return false;
    if (berth_text_starts(name, "/pmix."))
        return true;
    above = (size_t)(name - place);
    return above >= strlen(parent) &&
           strncmp(name - strlen(parent), parent, strlen(parent)) == 0;
}

bool berth_launch_is_manager_place(const char *directory, bool *ret_failed)
{
    BERTH_FREE char *place = berth_path_clean(directory);

    *ret_failed |= !place;
    return place && has_managers_name(place);
}

/* Append the mount TEXT (request/mount.h), which is from FROM because of WHY. */
static int plan_mount(const char *text, const char *from, const char *why,
                      struct berth_plan *ret, struct berth_err *err)
{
    char *items[] = {(char *)text, NULL};
    const struct berth_strvec one = {.items = items, .count = 1};

    return berth_plan_mounts(ret, &one, from, why, err);
}

/* Append the mounts of the request, each with its source. */
static int plan_asked(const struct berth_request *request, struct berth_plan *ret,
                      struct berth_err *err)
{
    for (size_t i = 0; i < request->mounts.count; i++) {
        const char *mount = request->mounts.items[i];
        const char *from = BERTH_FROM_USER;
        const char *why = "--container-mounts";

        if (berth_strvec_has(&request->site, mount)) {
            from = BERTH_FROM_SITE;
            why = "the site mounts it in every container";
        }
        if (plan_mount(mount, from, why, ret, err) < 0)
            return -1;
    }
    return 0;
}

/* Append the directory with the copies of the host's libraries, and what the profiles
 * of the host's stacks mount. */
static int plan_host(const struct berth_launch *launch, struct berth_plan *ret,
                     struct berth_err *err)
{
    const char *copies = "the copies of the host's libraries (--container-libs)";
    const char *profile =
        "a profile of the host's libraries names it (--container-libs)";

    if (berth_request_mpi_chosen(launch->request)) {
        copies = "the copies of the host's MPI, and the record of the ranks that load "
                 "it (--mpi-bind)";
        profile = "a profile of the host's MPI names it (--mpi-bind)";
    }
    if (berth_plan_mounts(ret, &launch->mounts, BERTH_FROM_BERTH, copies, err) < 0)
        return -1;
    return berth_plan_mounts(ret, &launch->fabric, BERTH_FROM_MPI, profile, err);
}

/* Append BINDS: for each file its copy on the host, its place, and what it is. */
static void plan_binds(const struct berth_strvec *binds, struct berth_plan *ret)
{
    for (size_t i = 0; i + 2 < binds->count; i += 3) {
        char why[96];

        snprintf(why, sizeof(why), "the host's file replaces the image's (%s)",
                 binds->items[i + 2]);
        berth_plan_mount(ret, binds->items[i], binds->items[i + 1], BERTH_MOUNT_RO,
                         BERTH_FROM_MPI, why);
    }
}

/* Does MOUNT hide OTHER, if it is mounted when the container has started? */
static bool hides(const struct berth_plan_item *mount,
                  const struct berth_plan_item *other)
{
    if (mount == other || mount->mode != BERTH_MOUNT_TMPFS)
        return false;
    return berth_path_is_within(other->destination, mount->destination);
}

/* Refuse a tmpfs over another mount of PLAN: that one would be there, and not seen. */
static int check_hidden(const struct berth_plan *plan, struct berth_err *err)
{
    for (size_t i = 0; i < plan->mounts.count; i++) {
        const struct berth_plan_item *mount = &plan->mounts.items[i];

        for (size_t k = 0; k < plan->mounts.count; k++) {
            const struct berth_plan_item *other = &plan->mounts.items[k];

            if (hides(mount, other))
                return berth_err_set(err,
                                     "mount 'tmpfs:%s': it would hide what is mounted "
                                     "at '%s'; choose another place",
                                     mount->destination, other->destination);
        }
    }
    return 0;
}

int berth_launch_mounts(const struct berth_launch *launch,
                        const struct berth_strvec *binds, struct berth_plan *ret,
                        struct berth_err *err)
{
    const struct berth_strvec *places = &launch->places;

    if (launch->reader)
        berth_plan_mount(ret, launch->reader, BERTH_LAUNCH_READER_PLACE, BERTH_MOUNT_RO,
                         BERTH_FROM_IMAGE,
                         "by it the runtime reads the variables in the image's "
                         "/etc/environment");

    for (size_t i = 0; i + 1 < places->count; i += 2)
        if (plan_mount(places->items[i], BERTH_FROM_NODE, places->items[i + 1], ret,
                       err) < 0)
            return -1;
    if (launch->request->home == BERTH_YES && launch->home)
        berth_plan_mount(ret, launch->home, launch->home, BERTH_MOUNT_RW,
                         BERTH_FROM_USER, "--container-mount-home");
    if (plan_asked(launch->request, ret, err) < 0)
        return -1;
    if (plan_host(launch, ret, err) < 0)
        return -1;
    if (binds)
        plan_binds(binds, ret);
    if (ret->failed)
        return berth_err_oom(err);
    return check_hidden(ret, err);
}

/* Has the plan DATA a mount on PLACE? */
static bool has_mount(const void *data, const char *place)
{
    const struct berth_plan *plan = data;

    for (size_t i = 0; i < plan->mounts.count; i++)
        if (strcmp(plan->mounts.items[i].destination, place) == 0)
            return true;
    return false;
}

int berth_launch_binds(const struct berth_launch *launch, char *const *environment,
                       struct berth_strvec *ret, struct berth_err *err)
{
    BERTH_PLAN struct berth_plan plan = {0};

    if (berth_launch_mounts(launch, NULL, &plan, err) < 0)
        return -1;
    for (; *environment; environment++) {
        BERTH_BUF struct berth_buf text = {0};

        if (berth_mountrules_cut(*environment, launch->directory, has_mount, &plan,
                                 &text))
            berth_strvec_push(ret, berth_buf_text(&text));
        ret->failed |= text.failed;
    }
    return berth_err_oom_if(ret->failed, err);
}

static void push_option(const char *option, const char *value,
                        struct berth_strvec *argv)
{
    if (!value)
        return;
    berth_strvec_push(argv, option);
    berth_strvec_push(argv, value);
}

/* Make HOME of the task the home directory in the container, if it is not that of the
 * user database, which the runtime would take: who asks for the home directory by an
 * option has set HOME for it. */
static void push_own_home(const struct berth_launch *launch, struct berth_strvec *argv)
{
    const char *account = launch->account_home;
    const bool is_root = launch->request->root == BERTH_YES;

    if (!launch->home || !account || strcmp(launch->home, account) == 0)
        return;
    if (strchr(launch->home, ':')) /* the runtime reads a second path after it */
        return;
    berth_strvec_push(argv, "--home");
    if (is_root)
        berth_strvec_pushf(argv, "%s:/root", launch->home);
    else
        berth_strvec_push(argv, launch->home);
}

static void push_home(const struct berth_launch *launch, struct berth_strvec *argv)
{
    if (launch->request->home == BERTH_NO)
        push_option("--no-mount", "home,cwd", argv);
    if (launch->request->home == BERTH_YES)
        push_own_home(launch, argv);
}

/* For a tmpfs the runtime makes the place; container/ownmounts.h does the rest when the
 * container has started. */
static int push_mounts(const struct berth_launch *launch, struct berth_strvec *argv,
                       struct berth_err *err)
{
    BERTH_PLAN struct berth_plan plan = {0};

    if (berth_launch_mounts(launch, NULL, &plan, err) < 0)
        return -1;
    for (size_t i = 0; i < plan.mounts.count; i++) {
        const struct berth_plan_item *mount = &plan.mounts.items[i];

        if (berth_mount_has_source(mount->mode))
            push_mount(mount->source, mount->destination, mount->mode, argv);
        else if (mount->mode == BERTH_MOUNT_TMPFS)
            push_option("--scratch", mount->destination, argv);
    }
    return 0;
}

/* Append ITEM of the request: NAME=VALUE, or NAME, whose value is that of the task. The
 * site adds the NAME of what a task exports (site/policy.c). */
static void plan_item(const struct berth_request *request, char *const *environment,
                      const char *item, struct berth_plan *ret)
{
    const char *given = berth_text_after(item, '=');
    const char *value = given;
    bool is_site = berth_strvec_has(&request->site, item);
    BERTH_FREE char *name = NULL;

    if (!given)
        value = berth_environ_value(environment, item);
    if (!value)
        return;
    name = strndup(item, strcspn(item, "="));
    if (!name) {
        ret->failed = true;
        return;
    }
    if (!is_site)
        berth_plan_variable(ret, name, value, BERTH_FROM_USER, "--container-env");
    else if (given)
        berth_plan_variable(ret, name, value, BERTH_FROM_SITE,
                            "the site sets it in every container");
    else
        berth_plan_variable(ret, name, value, BERTH_FROM_USER,
                            "exported, which wins over the site (rules)");
}

/* Both runtimes give an image of OCI a runscript that evaluates its arguments as a
 * shell does, as `apptainer run` wants it; without --no-eval, which sets these. srun's
 * words were evaluated where they were typed. */
static void plan_no_eval(struct berth_plan *ret)
{
    static const char *const names[] = {"APPTAINER_NO_EVAL", "SINGULARITY_NO_EVAL"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        berth_plan_variable(ret, names[i], "1", BERTH_FROM_BERTH,
                            "the runscript would evaluate the command a second time "
                            "(--container-entrypoint)");
}

void berth_launch_variables(const struct berth_request *request,
                            const struct berth_terms *terms, char *const *environment,
                            struct berth_plan *ret)
{
    for (size_t i = 0; i < terms->unset.count; i++)
        berth_plan_variable(ret, terms->unset.items[i], NULL, BERTH_FROM_SITE,
                            "the site unsets it in every container");
    /* With it, Intel MPI starts its daemons on the nodes in a runtime of its own. */
    if (berth_request_mpi_is(request, BERTH_MODE_LAUNCH))
        berth_plan_variable(ret, "SINGULARITY_CONTAINER", NULL, BERTH_FROM_BERTH,
                            "mpirun would start a runtime of its own on the nodes "
                            "(--mpi-bind=launch)");
    if (request->entrypoint == BERTH_YES)
        plan_no_eval(ret);
    for (size_t i = 0; i < request->env.count; i++)
        plan_item(request, environment, request->env.items[i], ret);
}

void berth_launch_env(const struct berth_request *request,
                      const struct berth_terms *terms, char *const *environment,
                      struct berth_strvec *env)
{
    BERTH_PLAN struct berth_plan plan = {0};

    berth_launch_variables(request, terms, environment, &plan);
    env->failed |= plan.failed;
    for (size_t i = 0; i < plan.variables.count; i++) {
        const struct berth_plan_item *variable = &plan.variables.items[i];

        if (variable->value)
            berth_strvec_pushf(env, "%s=%s", variable->name, variable->value);
        else
            berth_strvec_push(env, variable->name);
    }
}

void berth_launch_separate(char *const *environment, struct berth_strvec *set)
{
    static const struct {
        const char *name;
        const char *value;
    } settings[] = {
        {"UCX_POSIX_USE_PROC_LINK", "n"},
        {"UCX_TLS", "^cma"},
        {"MPIR_CVAR_CH4_CMA_ENABLE", "0"},
        {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
        {"OMPI_MCA_smsc", "^cma"},
    };

    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        if (!berth_environ_value(environment, settings[i].name))
            berth_strvec_pushf(set, "%s=%s", settings[i].name, settings[i].value);
}

bool berth_launch_prefers_image(const struct berth_launch *launch)
{
    return launch->reader || launch->request->home == BERTH_NO;
}

const char *berth_launch_entrypoint(const struct berth_launch *launch)
{
    if (launch->reader)
        return BERTH_LAUNCH_RC;
    return BERTH_LAUNCH_RUNSCRIPT;
}

void berth_launch_command(const struct berth_launch *launch, struct berth_strvec *argv)
{
    const bool is_through = launch->request->entrypoint == BERTH_YES;

    if (is_through && launch->reader)
        berth_strvec_push(argv, "/bin/sh"); /* enroot's file is not executable */
    if (is_through)
        berth_strvec_push(argv, berth_launch_entrypoint(launch));
    for (char *const *word = launch->command; *word; word++)
        berth_strvec_push(argv, *word);
}

/* As root, the programs would have all capabilities, and root's home. */
static void push_outer(const struct berth_launch *launch, struct berth_strvec *argv)
{
    if (!launch->is_outer)
        return;
    berth_strvec_push(argv, "--no-privs");
    push_option("--home", launch->account_home, argv);
}

static bool is_userns(const char *arg)
{
    return strcmp(arg, "--userns") == 0 || strcmp(arg, "-u") == 0;
}

/* Leave out --userns under an outer user namespace, which does the same. */
static void push_args(const struct berth_launch *launch, struct berth_strvec *argv)
{
    const struct berth_strvec *args = &launch->request->args;

    for (size_t i = 0; i < args->count; i++) {
        bool is_needless = launch->is_outer && is_userns(args->items[i]);

        if (!is_needless)
            berth_strvec_push(argv, args->items[i]);
    }
    argv->failed |= args->failed;
}

/* The container's own network has a loopback interface, and no other. */
static void push_unshare(const struct berth_request *request, struct berth_strvec *argv)
{
    if (berth_strvec_has(&request->unshare, "net")) {
        berth_strvec_push(argv, "--net");
        berth_strvec_push(argv, "--network=none");
    }
    if (berth_strvec_has(&request->unshare, "ipc"))
        berth_strvec_push(argv, "--ipc");
    if (berth_strvec_has(&request->unshare, "uts"))
        berth_strvec_push(argv, "--uts");
}

static void push_devices(const struct berth_request *request, struct berth_strvec *argv)
{
    BERTH_STRVEC struct berth_strvec devices = {0};

    berth_request_list_devices(request, &devices);
    for (size_t i = 0; i < devices.count; i++)
        berth_strvec_pushf(argv, "--device=%s", devices.items[i]);
    argv->failed |= devices.failed;
}

/* A package that replaces a file cannot replace a mount: tzdata has /etc/localtime,
 * which apptainer.conf mounts (`bind path`). */
static void push_root(const struct berth_request *request, struct berth_strvec *argv)
{
    if (request->root != BERTH_YES)
        return;
    berth_strvec_push(argv, "--fakeroot");
    push_option("--no-mount", "/etc/localtime", argv);
}

static int push_runtime(const struct berth_launch *launch, struct berth_strvec *argv,
                        struct berth_err *err)
{
    berth_strvec_push(argv, launch->runtime);
    berth_strvec_push(argv, "--silent");
    berth_strvec_push(argv, "exec");

    /* setuid programs do not work then (container/identity.h) */
    if (launch->unknown_user)
        berth_strvec_push(argv, "--userns");
    if (launch->overlay && launch->request->writable == BERTH_NO) {
        berth_strvec_push(argv, "--overlay");
        berth_strvec_pushf(argv, "%s:ro", launch->overlay);
    } else if (launch->overlay)
        push_option("--overlay", launch->overlay, argv);
    else if (launch->request->writable == BERTH_YES)
        berth_strvec_push(argv, "--writable-tmpfs");
    if (launch->gpu.flag)
        berth_strvec_push(argv, launch->gpu.flag);
    push_devices(launch->request, argv);
    push_outer(launch, argv);
    push_root(launch->request, argv);
    push_home(launch, argv);
    if (push_mounts(launch, argv, err) < 0)
        return -1;
    push_unshare(launch->request, argv);
    push_args(launch, argv);
    return 0;
}

int berth_launch_own_argv(const struct berth_launch *launch, struct berth_strvec *argv,
                          struct berth_err *err)
{
    if (push_runtime(launch, argv, err) < 0)
        return -1;
    if (launch->request->workdir)
        push_option("--pwd", launch->request->workdir, argv);
    else if (berth_launch_prefers_image(launch))
        push_option("--pwd", launch->image_directory, argv);
    berth_strvec_push(argv, launch->request->image);
    berth_launch_command(launch, argv);
    return berth_err_oom_if(argv->failed, err);
}

/* Append `--NAME=VALUE` for each value of the option ID. */
static void put_option(const struct berth_request *request, enum berth_option_id id,
                       struct berth_buf *ret)
{
    const char *value = berth_request_value(request, id, 0);

    for (size_t at = 1; value; at++) {
        if (ret->used)
            berth_buf_puts(ret, " ");
        berth_buf_addf(ret, "--%s", berth_options[id].name);
        berth_buf_part(ret, "=", value, "");
        value = berth_request_value(request, id, at);
    }
}

void berth_launch_made_by(const struct berth_request *request, struct berth_buf *ret)
{
    /* the flag of a name is that of one step */
    if (request->container_name)
        berth_buf_addf(ret, "--%s=%.*s", berth_options[BERTH_OPTION_NAME].name,
                       berth_named_length(request->container_name),
                       request->container_name);
    for (int id = 0; id < BERTH_OPTION_COUNT; id++)
        if (berth_request_is_from_start((enum berth_option_id)id))
            put_option(request, (enum berth_option_id)id, ret);
}

void berth_launch_hold(const struct berth_request *request, const char *init, int tasks,
                       int ready, int inner, struct berth_strvec *argv)
{
    BERTH_BUF struct berth_buf made_by = {0};

    berth_strvec_push(argv, init);
    berth_strvec_push(argv, "--hold");
    if (tasks < 0)
        return;
    berth_strvec_pushf(argv, "%d", tasks);
    berth_strvec_pushf(argv, "%d", ready);
    berth_strvec_pushf(argv, "%d", inner);
    berth_launch_made_by(request, &made_by);
    berth_strvec_push(argv, berth_buf_text(&made_by));
    argv->failed |= made_by.failed;
}

int berth_launch_holder_argv(const struct berth_launch *launch, const char *init,
                             int tasks, int ready, int inner, struct berth_strvec *argv,
                             struct berth_err *err)
{
    if (push_runtime(launch, argv, err) < 0)
        return -1;
    berth_strvec_push(argv, launch->request->image);
    berth_launch_hold(launch->request, init, tasks, ready, inner, argv);
    return berth_err_oom_if(argv->failed, err);
}
