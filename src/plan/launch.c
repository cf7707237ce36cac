/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the command line of the runtime from a request. */

#include "plan/launch.h"

#include <string.h>

#include "base/buf.h"
#include "base/environ.h"
#include "request/mount.h"

/* The image's runscript, where both Singularity and Apptainer keep it. */
#define RUNSCRIPT "/.singularity.d/runscript"

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
    berth_strvec_push(argv, "--mount");
    berth_strvec_pushf(argv, "%s", record.failed ? "" : record.text);
    argv->failed |= record.failed;
}

static int push_mounts(const struct berth_strvec *mounts, struct berth_strvec *argv,
                       struct berth_err *err)
{
    for (size_t i = 0; mounts && i < mounts->count; i++) {
        struct berth_mount mount;

        if (berth_mount_parse(mounts->items[i], NULL, &mount, err) < 0)
            return -1;
        push_mount(mount.source, mount.destination, mount.mode, argv);
        berth_mount_fini(&mount);
    }
    return 0;
}

static void push_home(const struct berth_launch *launch, struct berth_strvec *argv)
{
    if (launch->request->home == BERTH_NO) {
        berth_strvec_push(argv, "--no-mount");
        berth_strvec_push(argv, "home,cwd");
    }
    if (launch->request->home == BERTH_YES && launch->home)
        push_mount(launch->home, launch->home, BERTH_MOUNT_RW, argv);
}

/* slurmstepd makes these directories for a step (mpi/pmix and mpi/cray_shasta of
 * Slurm). */
void berth_launch_manager_places(const struct berth_request *request,
                                 char *const *environment, struct berth_strvec *ret)
{
    static const char *const names[] = {"PMIX_SERVER_TMPDIR", "PALS_SPOOL_DIR"};

    if (!berth_request_mpi_chosen(request))
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *directory = berth_environ_value(environment, names[i]);

        if (directory && *directory == '/')
            berth_strvec_push(ret, directory);
    }
}

static void push_pmi_mounts(const struct berth_launch *launch,
                            struct berth_strvec *argv)
{
    BERTH_STRVEC struct berth_strvec places = {0};

    berth_launch_manager_places(launch->request, launch->environment, &places);
    for (size_t i = 0; i < places.count; i++)
        push_mount(places.items[i], places.items[i], BERTH_MOUNT_RW, argv);
    argv->failed |= places.failed;
}

void berth_launch_env(const struct berth_request *request,
                      const struct berth_terms *terms, char *const *environment,
                      struct berth_strvec *env)
{
    const struct berth_strvec *asked = &request->env;

    if (terms)
        berth_strvec_append(env, &terms->unset);
    /* With it, Intel MPI starts its daemons on the nodes in a runtime of its own. */
    if (berth_request_mpi_is(request, BERTH_MODE_LAUNCH))
        berth_strvec_push(env, "SINGULARITY_CONTAINER");
    for (size_t i = 0; i < asked->count; i++) {
        const char *item = asked->items[i];
        const char *value =
            strchr(item, '=') ? NULL : berth_environ_value(environment, item);

        if (value)
            berth_strvec_pushf(env, "%s=%s", item, value);
        else if (strchr(item, '='))
            berth_strvec_push(env, item);
    }
}

void berth_launch_apart(char *const *environment, struct berth_strvec *set)
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

void berth_launch_command(const struct berth_request *request, char *const *command,
                          struct berth_strvec *argv)
{
    if (request->entrypoint == BERTH_YES)
        berth_strvec_push(argv, RUNSCRIPT);
    for (char *const *word = command; *word; word++)
        berth_strvec_push(argv, *word);
}

static void push_option(const char *option, const char *value,
                        struct berth_strvec *argv)
{
    if (!value)
        return;
    berth_strvec_push(argv, option);
    berth_strvec_push(argv, value);
}

static void push_descriptor(const char *option, int fd, struct berth_strvec *argv)
{
    if (fd < 0)
        return;
    berth_strvec_push(argv, option);
    berth_strvec_pushf(argv, "%d", fd);
}

/* As root, the programs would have all capabilities, and root's home. */
static void push_outer(const struct berth_launch *launch, struct berth_strvec *argv)
{
    if (!launch->is_outer)
        return;
    berth_strvec_push(argv, "--no-privs");
    push_option("--home", launch->account_home, argv);
}

/* Leave out --userns under an outer user namespace, which does the same. */
static void push_args(const struct berth_launch *launch, struct berth_strvec *argv)
{
    const struct berth_strvec *args = &launch->request->args;

    for (size_t i = 0; i < args->count; i++)
        if (!launch->is_outer || (strcmp(args->items[i], "--userns") != 0 &&
                                  strcmp(args->items[i], "-u") != 0))
            berth_strvec_push(argv, args->items[i]);
    argv->failed |= args->failed;
}

static int push_runtime(const struct berth_launch *launch, struct berth_strvec *argv,
                        struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec devices = {0};

    berth_strvec_push(argv, launch->runtime);
    berth_strvec_push(argv, "--silent");
    berth_strvec_push(argv, "exec");
    if (launch->unknown_user) /* step/identity.h: setuid programs do not work then */
        berth_strvec_push(argv, "--userns");
    if (launch->request->writable == BERTH_YES)
        berth_strvec_push(argv, "--writable-tmpfs");
    if (launch->gpu.flag)
        berth_strvec_push(argv, launch->gpu.flag);
    berth_request_list_devices(launch->request, &devices);
    for (size_t i = 0; i < devices.count; i++)
        berth_strvec_pushf(argv, "--device=%s", devices.items[i]);
    argv->failed |= devices.failed;
    push_outer(launch, argv);
    push_home(launch, argv);
    if (push_mounts(&launch->request->mounts, argv, err) < 0 ||
        push_mounts(launch->mounts, argv, err) < 0 ||
        push_mounts(launch->fabric, argv, err) < 0)
        return -1;
    push_pmi_mounts(launch, argv);
    push_args(launch, argv);
    return 0;
}

int berth_launch_own_argv(const struct berth_launch *launch, struct berth_strvec *argv,
                          struct berth_err *err)
{
    if (push_runtime(launch, argv, err) < 0)
        return -1;
    push_option("--pwd", launch->request->workdir, argv);
    berth_strvec_push(argv, launch->request->image);
    berth_launch_command(launch->request, launch->command, argv);
    return argv->failed ? berth_err_oom(err) : 0;
}

void berth_launch_hold(const char *init, int tasks, int ready, int inner,
                       struct berth_strvec *argv)
{
    berth_strvec_push(argv, init);
    berth_strvec_push(argv, "--hold");
    push_descriptor("--tasks", tasks, argv);
    push_descriptor("--ready", ready, argv);
    push_descriptor("--inner", inner, argv);
}

int berth_launch_holder_argv(const struct berth_launch *launch, const char *init,
                             int tasks, int ready, int inner, struct berth_strvec *argv,
                             struct berth_err *err)
{
    if (push_runtime(launch, argv, err) < 0)
        return -1;
    berth_strvec_push(argv, launch->request->image);
    berth_launch_hold(init, tasks, ready, inner, argv);
    return argv->failed ? berth_err_oom(err) : 0;
}
