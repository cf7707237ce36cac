/* SPDX-License-Identifier: Apache-2.0 */
/* A task joins the container, and becomes the command. */

#include "run/task.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/installed.h"
#include "base/text.h"
#include "plan/launch.h"
#include "plan/pytorch.h"
#include "container/become.h"
#include "container/join.h"
#include "ipc/loadmarks.h"
#include "ipc/report.h"
#include "container/program.h"
#include "container/munge.h"

extern char **environ;

/* Append the directory with the commands of the host to a PATH of --container-env, too.
 */
static int complete_path(void)
{
    const char *path = getenv("PATH");
    const char *place = getenv(BERTH_OUTSIDE_PLACE);
    BERTH_FREE char *whole = NULL;

    if (!place || !path || berth_text_ends(path, place))
        return 0;
    if (asprintf(&whole, "%s:%s", path, place) < 0) {
        whole = NULL;
        return -1;
    }
    return setenv("PATH", whole, 1);
}

/* Set the umask that the image's %environment has set, if it is among CHANGES: the
 * runtime does not start this process. */
static void apply_umask(const struct berth_strvec *changes)
{
    const char *text = NULL;
    unsigned int mask;

    if (changes->items)
        text = berth_environ_value(changes->items, BERTH_TASK_UMASK);
    if (text && sscanf(text, "%o", &mask) == 1)
        umask((mode_t)(mask & 0777));
}

/* Apply the changes of the runtime, then what a PyTorch image gets, and then
 * --container-env, to the environment of this process. */
static int apply_environment(const struct berth_task *task,
                             const struct berth_rendezvous *rendezvous,
                             struct berth_err *err)
{
    static struct berth_strvec variables; /* the process's environment from now on */
    BERTH_STRVEC struct berth_strvec changes = {0};
    BERTH_STRVEC struct berth_strvec pytorch = {0};
    BERTH_STRVEC struct berth_strvec asked = {0};
    const struct berth_rendezvous_page *page = rendezvous->page;

    for (char *const *item = environ; *item; item++) /* TASK keeps that of Slurm */
        berth_strvec_push(&variables, *item);
    if (variables.failed)
        return berth_err_oom(err);
    if (variables.items)
        environ = variables.items;
    berth_environ_split(page->text + page->changes.at, page->changes.count, &changes);
    berth_launch_env(&task->order.request, &task->order.terms, task->launch.environment,
                     &asked);
    apply_umask(&changes);
    if (berth_task_set(&changes, err) < 0)
        return -1;
    unsetenv(BERTH_TASK_UMASK); /* it is not the command's */
    /* A batch script is not a task: its steps would all inherit its rank. */
    if (!task->order.script)
        berth_pytorch_env(environ, &task->order.terms.pytorch, &pytorch);
    if (berth_task_set(&pytorch, err) < 0 || berth_task_set(&asked, err) < 0)
        return -1;
    return berth_err_oom_if(complete_path() < 0, err);
}

/* Tell slurmstepd if the command gets no LD_LIBRARY_PATH of the host. */
static void tell_dropped(const struct berth_task *task,
                         const struct berth_rendezvous *rendezvous)
{
    const char *host = berth_environ_value(task->launch.environment, "LD_LIBRARY_PATH");
    const char *now = getenv("LD_LIBRARY_PATH");
    bool is_kept = now && host && strstr(now, host);

    if (host && *host && !is_kept)
        rendezvous->node->has_dropped = true;
}

/* Print once for the component, in NOTE, that its tasks do not start in the directory
 * of srun. Who leaves the home out can expect that. */
static void print_note(const struct berth_task *task, const struct berth_err *note)
{
    const struct berth_order_step *step = &task->order.step;
    const struct berth_request *request = &task->order.request;
    const bool is_expected = request->home == BERTH_NO;
    const char *kind = "warning";

    if (!*note->text || !step->is_first || berth_request_is_explained(request))
        return;
    if (is_expected)
        kind = "note";
    if (is_expected && step->is_one_file) /* which gets no notes */
        return;
    berth_report_line(STDERR_FILENO, task->launch.node, "%s: image '%s': %s", kind,
                      berth_request_name(request), note->text);
}

/* Warn once for the component if the image's MPI may not connect to Slurm's PMIx server
 * because its user is root. With --mpi-bind that was decided. A container with a name
 * that another step has started may have no root, whatever the site's default. */
static void warn_of_root(const struct berth_task *task)
{
    const struct berth_request *request = &task->order.request;
    char *const *given = task->launch.environment;
    const char *type = berth_environ_value(given, "SLURM_MPI_TYPE");
    const char *why;

    if (request->root != BERTH_YES || geteuid() != 0)
        return;
    if (berth_request_mpi_chosen(request) || !task->order.step.is_first)
        return;
    if (!type || !berth_text_starts(type, "pmix"))
        return;
    why = berth_munge_why_not(given, BERTH_MUNGE_LIBRARIES);
    if (why && berth_munge_is_wanted(BERTH_MUNGE_LIBRARIES))
        berth_report_line(STDERR_FILENO, task->launch.node,
                          "warning: image '%s': --container-remap-root: with --mpi=%s "
                          "its MPI ends in MPI_Init if it runs as root, as %s; leave "
                          "--container-remap-root out of this step, or add "
                          "--mpi-bind=host",
                          berth_request_name(request), type, why);
}

static int become(const struct berth_task *task,
                  const struct berth_rendezvous *rendezvous, struct berth_err *err)
{
    struct berth_strvec command = {0};
    char *pwd = getenv("PWD"); /* outlives the change of the environment */
    const struct berth_rendezvous_page *page = rendezvous->page;
    BERTH_FREE char *image_directory =
        strndup(page->text + page->image_directory.at, page->image_directory.count);
    struct berth_become it = {.workdir = task->order.request.workdir,
                              .stay = task->launch.directory,
                              .pwd = pwd};
    struct berth_launch launch = task->launch; /* borrows */
    struct berth_err note;

    launch.request = &task->order.request;
    if (page->is_squashfs)
        launch.reader = BERTH_LAUNCH_READER_PLACE; /* as this process will see it */
    if (image_directory && *image_directory)
        it.image_directory = image_directory;
    it.prefers_image = berth_launch_prefers_image(&launch);
    if (task->order.request.entrypoint == BERTH_YES)
        it.entrypoint = berth_launch_entrypoint(&launch);
    else
        it.runscript = berth_launch_entrypoint(&launch);
    berth_launch_command(&launch, &command);
    it.command = command.items;
    if (command.failed || !image_directory)
        return berth_err_oom(err);
    if (berth_join(page->holder, err) < 0)
        return -1;
    berth_loadmarks_join(task->launch.environment);
    if (apply_environment(task, rendezvous, err) < 0 ||
        berth_become_chdir(&it, &note, err) < 0)
        return -1;
    print_note(task, &note);
    tell_dropped(task, rendezvous);
    if (task->order.report >= 0)
        fcntl(task->order.report, F_SETFD, FD_CLOEXEC);
    if (berth_request_is_explained(&task->order.request))
        return berth_become_try(&it, err);
    warn_of_root(task);
    return berth_become_command(&it, err);
}

int berth_joined_become(const struct berth_task *task,
                        const struct berth_rendezvous *rendezvous,
                        struct berth_err *err)
{
    int status = become(task, rendezvous, err);

    if (status == 0)
        return 0;
    rendezvous->node->has_refused = true;
    berth_err_at(err, "image '%s'", berth_request_name(&task->order.request));
    return status;
}

/* Has another task started the container of this task, and is it READY? */
static bool is_ready(const struct berth_task *task, struct berth_rendezvous *rendezvous)
{
    const struct berth_order *order = &task->order;
    struct berth_err err;

    *rendezvous = berth_task_rendezvous(task);
    if (!berth_request_has_container(&order->request) || order->memory < 0)
        return false;
    if (berth_request_is_explained(&order->request))
        return false;
    if (berth_rendezvous_map(rendezvous, &err) < 0)
        return false;
    /* the task that claims the start becomes berth-start, which starts the container */
    if (berth_rendezvous_claim(rendezvous))
        return false;
    if (berth_rendezvous_wait(rendezvous, &err) != BERTH_RENDEZVOUS_READY)
        return false;
    berth_rendezvous_leave(rendezvous);
    return true;
}

/* Join the container of RENDEZVOUS. Returns as berth_joined_become(). */
static int join_ready(struct berth_task *task,
                      const struct berth_rendezvous *rendezvous, struct berth_err *err)
{
    if (berth_task_hide_step(task, err) < 0)
        return -1;
    return berth_joined_become(task, rendezvous, err);
}

/* Become berth-start with ORDER (NULL: without one). Returns only on failure. */
static int become_start(const char *order, char **argv, struct berth_err *err)
{
    const char *start = berth_installed(BERTH_LIBEXECDIR "/berth-start");

    if (order && setenv(BERTH_TASK_ORDER, order, 1) < 0)
        return berth_err_oom(err);
    argv[0] = (char *)start;
    execv(start, argv);
    return berth_program_missing(start, err);
}

int berth_task_run(struct berth_task *task, char **argv, struct berth_err *err)
{
    struct berth_rendezvous rendezvous;
    const char *order = getenv(BERTH_TASK_ORDER);
    bool is_read = order && berth_task_read(task, argv, err) == 0;

    if (is_read && is_ready(task, &rendezvous))
        return join_ready(task, &rendezvous, err);
    /* which reports what is wrong with the order */
    return become_start(order, argv, err);
}

int berth_task_run_order(struct berth_task *task, char **argv, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};
    struct berth_rendezvous rendezvous;

    unsetenv(BERTH_TASK_ORDER); /* it is not this task's */
    berth_task_begin(task, argv + 1);
    if (is_ready(task, &rendezvous))
        return join_ready(task, &rendezvous, err);
    if (berth_order_put(&task->order, &text, err) < 0)
        return -1;
    return become_start(text.text, argv, err);
}
