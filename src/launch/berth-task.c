/* SPDX-License-Identifier: Apache-2.0 */
/* berth-task: stands in front of the user's command in every task that has an image, as
 * the user and with no privilege. The first task of a step on a node starts the
 * container; all of them join it and become the command. Where a container cannot be
 * joined, each becomes a runtime of its own, which starts berth-init, which becomes the
 * command. */

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/streams.h"
#include "plan/envdiff.h"
#include "plan/gpu.h"
#include "plan/launch.h"
#include "request/launcher.h"
#include "request/spell.h"
#include "request/wire.h"
#include "probe/gpu.h"
#include "probe/image.h"
#include "probe/runtime.h"
#include "probe/signature.h"
#include "launch/account.h"
#include "step/become.h"
#include "launch/preflight.h"
#include "launch/guard.h"
#include "step/identity.h"
#include "launch/inject.h"
#include "step/join.h"
#include "launch/supervisor.h"
#include "step/handover.h"
#include "step/limits.h"
#include "step/log.h"
#include "step/marks.h"
#include "step/names.h"
#include "step/program.h"
#include "step/report.h"
#include "step/rendezvous.h"
#include "launch/start.h"
#include "launch/notice.h"

extern char **environ;

/* What the plugin said, out of the environment, and what is known of this task. */
struct task {
    struct berth_request request;
    struct berth_terms terms;
    char *node;
    char *prefix;     /* of options, in messages */
    char *runtime;    /* the site's; NULL: find one */
    char *rendezvous; /* NULL: nothing is shared */
    char *argv0;      /* NULL: the command is behind our own argv[0] */
    char *directory;
    char *place; /* node and image, in messages */
    bool leads;  /* on the first node of the component */
    int report;
    char *step;                /* BERTH_TASK_EXPLAIN */
    char *record;              /* where to; NULL: none is kept */
    unsigned int digest_limit; /* as in report/record.h */
    char **command;
    char **environment;         /* as Slurm has made it */
    struct berth_strvec mounts; /* ours */
    struct berth_strvec fabric; /* the same, of the host's MPI */
    struct berth_strvec set;    /* for the host's MPI, in a container of our own */
    struct berth_strvec binds;
    char *programs;           /* as in plan/launch.h */
    struct berth_buf account; /* printed in the end, where one is asked for */
};

/* A variable that is ours: its value, and it is gone. The caller frees it. */
static char *take_variable(const char *name)
{
    const char *value = getenv(name);
    char *copy = value ? strdup(value) : NULL;

    unsetenv(name);
    return copy;
}

static char *node_name(void)
{
    const char *name = getenv(BERTH_TASK_NODE);
    char host[256] = "this host";

    if (name)
        return strdup(name);
    gethostname(host, sizeof(host) - 1);
    return strdup(host);
}

static int read_request(struct task *task, struct berth_err *err)
{
    BERTH_FREE char *request = take_variable(BERTH_TASK_REQUEST);
    BERTH_FREE char *terms = take_variable(BERTH_TASK_TERMS);

    if (!request)
        return berth_err_set(err, "berth-task is started by Slurm through the berth "
                                  "plugin, not by hand; see spank_berth(8)");
    if (berth_wire_get_request(request, &task->request, err) < 0)
        return berth_err_at(err, BERTH_TASK_REQUEST);
    if (terms && berth_terms_get(terms, &task->terms, err) < 0)
        return berth_err_at(err, BERTH_TASK_TERMS);
    if (asprintf(&task->place, "%s: image '%s'", task->node,
                 task->request.image ? berth_request_name(&task->request)
                                     : BERTH_NO_IMAGE) < 0)
        return berth_err_oom(err);
    return 0;
}

static int read_task(struct task *task, char **argv, struct berth_err *err)
{
    BERTH_FREE char *report = take_variable(BERTH_TASK_REPORT);
    BERTH_FREE char *leads = take_variable(BERTH_TASK_LEADS);
    BERTH_FREE char *digest = take_variable(BERTH_TASK_DIGEST);

    task->report = report ? atoi(report) : -1;
    task->prefix = take_variable(BERTH_TASK_PREFIX);
    task->programs = take_variable(BERTH_TASK_PROGRAMS);
    task->leads = leads != NULL;
    task->step = take_variable(BERTH_TASK_EXPLAIN);
    task->record = take_variable(BERTH_TASK_RECORD);
    task->digest_limit = digest ? (unsigned int)atoi(digest) : 0;
    task->runtime = take_variable(BERTH_TASK_RUNTIME);
    task->rendezvous = take_variable(BERTH_TASK_ROOM);
    task->argv0 = take_variable(BERTH_TASK_ARGV0);
    task->directory = getcwd(NULL, 0);
    task->node = node_name();
    task->command = argv + 1;
    task->environment = environ;
    if (task->argv0) {
        argv[0] = task->argv0;
        task->command = argv;
    }
    if (!task->node)
        return berth_err_oom(err);
    if (read_request(task, err) < 0)
        return -1;
    if (!*task->command && !task->request.entrypoint)
        return berth_err_set(err, "no command given");
    return 0;
}

/* An mpirun in this task is to know nothing of Slurm, nor of its process manager. */
static int hide_launcher(const struct task *task, struct berth_err *err)
{
    static struct berth_strvec shown; /* the process's environment from now on */
    int fd = berth_launcher_descriptor(environ);
    struct stat status;

    if (!berth_request_mpi_local(&task->request))
        return 0;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
        close(fd);
    if (berth_launcher_environment(&task->request, environ, &shown, err) < 0)
        return -1;
    environ = shown.items;
    return 0;
}

/* $HOME, or what the user database says where it is no directory's name, or Slurm has
 * dropped it (--export=NONE); NULL when neither knows. */
static const char *home_directory(void)
{
    const char *home = getenv("HOME");
    const struct passwd *user;

    if (home && *home == '/')
        return home;
    user = getpwuid(getuid());
    return user ? user->pw_dir : NULL;
}

/* Look whether everything is there, and say how it is started. What RET points to is
 * the task's, and lives as long. */
static int prepare(struct task *task, struct berth_launch *ret, struct berth_err *err)
{
    const struct berth_gpu_host gpus = berth_gpu_look();
    struct berth_gpu_choice gpu;
    char *runtime;

    berth_strvec_fini(&task->mounts); /* of an earlier call */
    berth_strvec_fini(&task->fabric);
    if (berth_image_look(&task->request, err) < 0 ||
        berth_preflight_check(&task->request, err) < 0 ||
        berth_gpu_choose(&task->request, task->environment, &gpus, &gpu, err) < 0 ||
        berth_inject_mounts(&task->request, &task->mounts, err) < 0 ||
        berth_inject_fabric(&task->request, &task->terms, &task->fabric, err) < 0 ||
        berth_runtime_find(task->runtime, getenv("PATH"), &runtime, err) < 0)
        return -1;
    free(task->runtime);
    task->runtime = runtime;
    *ret = (struct berth_launch){
        .runtime = runtime,
        .home = home_directory(),
        .directory = task->directory,
        .node = task->node,
        .place = task->place,
        .prefix = task->prefix ? task->prefix : "",
        .report = task->report,
        .guard = -1,
        .said = -1,
        .request = &task->request,
        .terms = &task->terms,
        .environment = task->environment,
        .mounts = &task->mounts,
        .fabric = &task->fabric,
        .binds = &task->binds,
        .gpu = gpu.flag,
        .gpu_because = gpu.because,
        .set = &task->set,
        .command = task->command,
        .programs = task->request.entrypoint ? NULL : task->programs,
        .step = task->step,
        .record = task->record,
        .unknown_user = !berth_identity_is_known(),
    };
    return 0;
}

/* What berth-init is to know. */
static int write_handover(const struct berth_launch *launch, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec words = {0};

    if (berth_launch_init_argv(launch, &words, err) < 0)
        return -1;
    return berth_handover_write(&words, environ, err);
}

/* From here on what standard error is said goes to LOG, and berth-init takes it back.
 */
static int divert(int log, struct berth_err *err)
{
    int said = dup(STDERR_FILENO);

    if (said < 0 || dup2(log, STDERR_FILENO) < 0)
        return berth_err_set(err, "cannot make a log: %s", strerror(errno));
    return said;
}

static void fail(const struct task *task, struct berth_err *err)
{
    berth_spell_options(task->prefix ? task->prefix : "", err);
    berth_report(task->report, task->node ? task->node : "berth-task", err);
}

/* A container of this task alone. RENDEZVOUS may be NULL. Returns only when that fails.
 */
static void become_runtime(struct task *task, const struct berth_rendezvous *rendezvous,
                           struct berth_err *err)
{
    struct berth_guard guard = {.tasks = rendezvous ? rendezvous->tasks : -1,
                                .ended = rendezvous ? rendezvous->ended : -1,
                                .rendezvous = rendezvous,
                                .limit = rendezvous ? berth_rendezvous_limit(rendezvous)
                                                    : 0};
    BERTH_STRVEC struct berth_strvec argv = {0};
    BERTH_BUF struct berth_buf limits = {0};
    struct berth_launch launch;
    char init[BERTH_PROGRAM_NAME];
    int fd, handover;

    if (prepare(task, &launch, err) < 0 || (fd = berth_program_open(err)) < 0 ||
        (guard.log = berth_log_open(err)) < 0)
        return;
    berth_launch_apart(&launch, &task->set);
    berth_program_name(fd, init);
    launch.init = init;
    berth_limits_raise(&limits);
    launch.limits = limits.text;
    launch.guard = berth_guard_start(&launch, &guard, err);
    if (launch.guard < 0 || (launch.said = divert(guard.log, err)) < 0)
        return;
    handover = write_handover(&launch, err);
    if (handover >= 0 && berth_start_enter(".") == 0 &&
        berth_launch_argv(&launch, handover, &argv, err) == 0 &&
        (!launch.unknown_user || berth_identity_provide(err) == 0)) {
        execv(launch.runtime, argv.items);
        berth_err_set(err,
                      "container runtime '%s': %s; ask the administrators to repair it",
                      launch.runtime, strerror(errno));
    }
    dup2(launch.said, STDERR_FILENO);
}

/* Start the container of the rendezvous. What goes wrong is said in the rendezvous, for
 * all, if nobody has given up by then. */
static void start_container(struct task *task, struct berth_rendezvous *rendezvous)
{
    struct berth_launch launch;
    struct berth_err err;

    if (prepare(task, &launch, &err) < 0 ||
        (berth_rendezvous_state(rendezvous) == BERTH_RENDEZVOUS_STARTING &&
         berth_supervisor_start(&launch, task->directory, rendezvous, &err) < 0))
        berth_rendezvous_fail(rendezvous, &err);
}

/* The environment in the container: what the runtime made of it, and --container-env.
 */
static int take_environment(const struct task *task,
                            const struct berth_rendezvous *rendezvous,
                            struct berth_err *err)
{
    static struct berth_strvec variables; /* the process's environment from now on */
    BERTH_STRVEC struct berth_strvec asked = {0};
    struct berth_launch launch = {.request = &task->request,
                                  .terms = &task->terms,
                                  .environment = task->environment};
    size_t before_count, after_count;
    const char *before = berth_rendezvous_before(rendezvous, &before_count);
    const char *after = berth_rendezvous_after(rendezvous, &after_count);

    berth_launch_env(&launch, &asked);
    if (asked.failed || berth_envdiff_apply(before, before_count, after, after_count,
                                            environ, &variables, err) < 0)
        return berth_err_oom(err);
    environ = variables.items;
    for (size_t i = 0; i < asked.count; i++)
        if (putenv(berth_steal(&asked.items[i])) < 0)
            return berth_err_oom(err);
    return 0;
}

/* Join the container of the rendezvous and become the command, or only try to, where an
 * account is asked for. Returns the exit status, when that fails or was only tried. */
static int join(struct task *task, struct berth_rendezvous *rendezvous,
                struct berth_err *err)
{
    struct berth_strvec command = {0};
    struct berth_launch launch = {.request = &task->request, .command = task->command};
    char *pwd = getenv("PWD"); /* outlives the change of the environment */
    struct berth_become become = {
        .workdir = task->request.workdir, .stay = task->directory, .pwd = pwd};

    berth_launch_command(&launch, &command);
    become.command = command.items;
    if (command.failed)
        return berth_err_oom(err), BERTH_REFUSED;
    if (berth_join(berth_rendezvous_holder(rendezvous), err) < 0)
        return BERTH_REFUSED;
    berth_marks_join(task->environment);
    if (take_environment(task, rendezvous, err) < 0 ||
        berth_become_enter(&become, err) < 0)
        return BERTH_REFUSED;
    if (task->report >= 0)
        fcntl(task->report, F_SETFD, FD_CLOEXEC);
    return berth_request_explained(&task->request) ? berth_become_try(&become, err)
                                                   : berth_become_command(&become, err);
}

/* What the first of a node's tasks tells, and keeps of the component. RENDEZVOUS may be
 * NULL; WHY: each task has a container of its own. A step does not fail for it. */
static void tell(const struct task *task, const struct berth_rendezvous *rendezvous,
                 const char *why)
{
    struct berth_notice told = {.node = task->node,
                                .request = &task->request,
                                .environment = task->environment,
                                .leads = task->leads,
                                .step = task->step,
                                .runtime = task->runtime,
                                .digest_limit = task->digest_limit,
                                .rendezvous = rendezvous,
                                .apart = why};

    if (task->leads && berth_request_explained(&task->request))
        return; /* the account says it */
    if (rendezvous)
        berth_tell(&told);
    if (task->record && task->leads)
        berth_notice_keep(&told, task->record);
}

/* What was found out for the containers of all tasks. */
static void take_plan(struct task *task, const struct berth_rendezvous *rendezvous)
{
    size_t count;
    const char *text = berth_rendezvous_before(rendezvous, &count);

    berth_environ_split(text, count, &task->set);
    text = berth_rendezvous_after(rendezvous, &count);
    berth_environ_split(text, count, &task->binds);
}

/* Is the image signed as the site wants it? Asked once for all tasks. */
static int verify(const struct task *task, unsigned int seconds,
                  struct berth_deadline *deadline, struct berth_err *err)
{
    BERTH_FREE char *runtime = NULL;
    struct berth_signature signature = {
        .image = task->request.image,
        .identity = task->terms.image,
        .fingerprints = &task->terms.signers,
        .environment = environ,
        .seconds = seconds,
        .deadline = deadline,
        .place = task->terms.signers_place,
    };

    if (task->terms.signers.count == 0)
        return 0;
    if (berth_runtime_find(task->runtime, getenv("PATH"), &runtime, err) < 0)
        return -1;
    signature.runtime = runtime;
    return berth_signature_check(&signature, err);
}

/* The first task sees to it that there is something to join, or to know. */
static void start(struct task *task, struct berth_rendezvous *rendezvous)
{
    const char *why = berth_rendezvous_forbidden(rendezvous);
    struct berth_err err;

    if (verify(task, berth_rendezvous_limit(rendezvous),
               berth_rendezvous_deadline(rendezvous), &err) < 0)
        berth_rendezvous_fail(rendezvous, &err);
    else if (why && !berth_request_mpi_chosen(&task->request) &&
             !berth_request_explained(&task->request))
        berth_rendezvous_separate(rendezvous, why, &err);
    else
        start_container(task, rendezvous);
}

/* Write the account, if this is the task that gives it. RENDEZVOUS may be NULL; APART:
 * why each task has a container of its own, NULL: it has not. */
static int write_account(struct task *task, const struct berth_rendezvous *rendezvous,
                         const char *apart, struct berth_err *err)
{
    struct berth_launch launch = {
        .node = task->node, .request = &task->request, .command = task->command};
    struct berth_account account = {.launch = &launch,
                                    .environment = environ,
                                    .step = task->step,
                                    .rendezvous = rendezvous,
                                    .apart = apart};

    if (berth_request_contained(&task->request)) {
        if (prepare(task, &launch, err) < 0)
            return -1;
    }
    return berth_account_write(&account, &task->account, err);
}

/* Is this the task that gives the account of the component? */
static bool gives_account(const struct task *task, bool is_first)
{
    return is_first && task->leads && berth_request_explained(&task->request);
}

/* As become_runtime(), but in a process of its own, which only tries. Returns its exit
 * status. */
static int try_runtime(struct task *task, const struct berth_rendezvous *rendezvous,
                       struct berth_err *err)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        become_runtime(task, rendezvous, err);
        fail(task, err);
        _exit(BERTH_REFUSED);
    }
    if (child < 0)
        return berth_err_set(err, "cannot start a process: %s", strerror(errno)),
               BERTH_REFUSED;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (status == 0)
        return berth_account_print(&task->account, err) < 0 ? BERTH_REFUSED
                                                            : EXIT_SUCCESS;
    _exit(WIFEXITED(status) ? WEXITSTATUS(status)
                            : BERTH_REFUSED); /* it has said why */
}

/* Each task in a container of its own, WHY. Returns the exit status. */
static int run_apart(struct task *task, const struct berth_rendezvous *rendezvous,
                     bool is_first, const char *why, struct berth_err *err)
{
    if (!gives_account(task, is_first)) {
        become_runtime(task, rendezvous, err);
        return BERTH_REFUSED;
    }
    if (write_account(task, rendezvous, why, err) < 0)
        return BERTH_REFUSED;
    return try_runtime(task, rendezvous, err);
}

/* With the others in the container of the rendezvous. Returns the exit status. */
static int run_joined(struct task *task, struct berth_rendezvous *rendezvous,
                      bool is_first, struct berth_err *err)
{
    int status;

    if (gives_account(task, is_first) && write_account(task, rendezvous, NULL, err) < 0)
        return BERTH_REFUSED;
    status = join(task, rendezvous, err);
    if (status == 0 && task->account.used)
        return berth_account_print(&task->account, err) < 0 ? BERTH_REFUSED : status;
    berth_err_at(err, "image '%s'", berth_request_name(&task->request));
    return status;
}

/* With the other tasks of the step on this node. */
static int run_shared(struct task *task, struct berth_err *err)
{
    struct berth_rendezvous rendezvous;
    struct berth_err why;
    bool first;

    if (berth_rendezvous_enter(&rendezvous, task->rendezvous, err) < 0)
        return BERTH_REFUSED;
    first = berth_rendezvous_claim(&rendezvous);
    if (first && berth_rendezvous_state(&rendezvous) == BERTH_RENDEZVOUS_STARTING)
        start(task, &rendezvous);
    switch (berth_rendezvous_wait(&rendezvous, err)) {
    case BERTH_RENDEZVOUS_READY:
        if (first)
            tell(task, &rendezvous, NULL);
        return run_joined(task, &rendezvous, first, err);
    case BERTH_RENDEZVOUS_SEPARATE:
        why = *err;
        if (first)
            tell(task, &rendezvous, why.text);
        take_plan(task, &rendezvous);
        return run_apart(task, &rendezvous, first, why.text, err);
    case BERTH_RENDEZVOUS_LOST:
        berth_err_set(err, "the container ended before this task could join it; it was "
                           "killed, or ran out of memory");
        return BERTH_REFUSED;
    default:
        return BERTH_REFUSED;
    }
}

/* On the host, where nothing is run because another component is to be explained. */
static int run_nothing(struct task *task, struct berth_err *err)
{
    struct berth_rendezvous rendezvous;
    bool is_first = true;

    if (task->rendezvous &&
        berth_rendezvous_enter(&rendezvous, task->rendezvous, err) < 0)
        return BERTH_REFUSED;
    if (task->rendezvous)
        is_first = berth_rendezvous_claim(&rendezvous);
    if (gives_account(task, is_first) && (write_account(task, NULL, NULL, err) < 0 ||
                                          berth_account_print(&task->account, err) < 0))
        return BERTH_REFUSED;
    return EXIT_SUCCESS;
}

/* That a signature may take where no rendezvous says it. */
enum { ALONE_SECONDS = 60 };

static int run(struct task *task, char **argv, struct berth_err *err)
{
    if (read_task(task, argv, err) < 0 || hide_launcher(task, err) < 0)
        return BERTH_REFUSED;
    if (!berth_request_contained(&task->request))
        return run_nothing(task, err);
    if (task->rendezvous)
        return run_shared(task, err);
    if (berth_request_mpi_chosen(&task->request))
        return berth_err_set(err, BERTH_TASK_NO_ROOM, task->request.mpi,
                             BERTH_TASK_ROOM
                             " is not set; has a task prolog unset it?"),
               BERTH_REFUSED;
    if (verify(task, ALONE_SECONDS, NULL, err) < 0)
        return BERTH_REFUSED;
    tell(task, NULL, "its tasks cannot meet");
    return run_apart(task, NULL, true, "its tasks cannot meet", err);
}

int main(int argc, char **argv)
{
    struct task task = {.report = -1};
    struct berth_err err;
    int status;

    berth_streams_hold();
    /* In a step, the words are the user's. */
    if (!getenv(BERTH_TASK_REQUEST) && berth_program_tells("berth-task", argc, argv))
        return EXIT_SUCCESS;
    status = run(&task, argv, &err);
    if (status != EXIT_SUCCESS)
        fail(&task, &err);
    return status;
}
