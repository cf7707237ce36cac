/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for the first MPI that a task loads in a step without the host's, and for an
 * mpirun in several tasks. */

#include "run/singletons.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/detach.h"
#include "base/environ.h"
#include "base/installed.h"
#include "base/text.h"
#include "mpi/filenames.h"
#include "mpi/names.h"
#include "request/mpirun.h"
#include "request/ranks.h"
#include "run/notice.h"
#include "ipc/loadmark.h"
#include "container/maps.h"
#include "container/namespaces.h"
#include "container/processes.h"
#include "container/starters.h"
#include "ipc/report.h"

bool berth_singletons_wanted(const struct berth_launch *launch)
{
    const char *tasks = berth_environ_value(launch->environment, "SLURM_NTASKS");
    const struct berth_order_step *step = &launch->order->step;
    bool has_several = tasks && atoi(tasks) > 1;

    if (!step->prints_component || step->tasks == 0 || !has_several)
        return false;
    return !launch->request->mpi || berth_request_mpi_chosen(launch->request);
}

bool berth_singletons_is_tool(const char *name)
{
    static const char *const starts[] = {"orted",     "prte",         "hydra_",
                                         "ompi_info", "mpichversion", NULL};

    return berth_mpi_is_starter(name) || berth_text_starts_any(name, starts);
}

/* An MPI that a process has mapped, and tasks that start an mpirun. */
struct mapped {
    const struct berth_binder *it;
    pid_t pid;
    char *path;       /* NULL: none was found */
    bool is_seen;     /* a process of the container was */
    pid_t task;       /* that is looked at */
    pid_t starting;   /* the first task that was seen to start an mpirun; 0: none */
    bool is_repeated; /* another task starts one, too */
    char starter[32]; /* the name of the mpirun */
};

/* Is process PID in the container of the singletons, or, where each task has its own,
 * in one of the same image? A task on the host or in another image is not. */
static bool is_inside(const struct berth_binder *it, pid_t pid)
{
    const char *locals = it->launch->order->container.locals;
    unsigned int local;

    if (it->holder.pid)
        return berth_namespaces_shared(pid, it->holder.pid, "mnt");
    if (!locals)
        return true;
    return berth_process_variable(pid, BERTH_MARK_VARIABLE, &local) &&
           berth_ranks_has(locals, local, NULL);
}

/* Note a file that process PID has mapped if it is an MPI. */
static bool find_library(const struct berth_mapping *mapping, void *data)
{
    struct mapped *mapped = data;

    if (berth_mpi_is_c_file_name(berth_text_base(mapping->path)))
        mapped->path = strdup(mapping->path);
    return !mapped->path;
}

/* Note that the task starts the mpirun PROCESS. */
static void add_starter(struct mapped *mapped, const struct berth_process *process)
{
    if (mapped->starting == 0) {
        mapped->starting = mapped->task;
        snprintf(mapped->starter, sizeof(mapped->starter), "%s", process->name);
    }
    mapped->is_repeated |= mapped->starting != mapped->task;
}

/* Find an MPI that process PID has mapped. Returns whether to go on below PID: not
 * below a tool, but below a script on the host. */
static bool find_mapped(pid_t pid, void *data)
{
    struct mapped *mapped = data;
    struct berth_process process;

    if (!is_inside(mapped->it, pid))
        return true;
    mapped->is_seen = true;
    if (berth_process_read(pid, &process) && berth_singletons_is_tool(process.name)) {
        if (berth_starters_has(&process))
            add_starter(mapped, &process);
        return false;
    }
    mapped->pid = pid;
    berth_maps_each(pid, find_library, mapped);
    return !mapped->path;
}

/* One task each time is enough: what one task loads, the others load too. */
static void find_mpi(unsigned int turn, struct mapped *ret)
{
    BERTH_FREE pid_t *tasks = NULL;
    size_t count = berth_process_children(ret->it->parent, &tasks);

    ret->is_seen = false;
    for (size_t i = 0; i < count && !ret->is_seen; i++) {
        ret->task = tasks[(turn + i) % count];
        berth_process_each_below(ret->task, find_mapped, ret);
    }
}

static const char *value_of(const struct berth_launch *launch, const char *name)
{
    return berth_text_or(berth_environ_value(launch->environment, name), "");
}

/* Open the standard error of a child of PARENT again, if it still is the file
 * TASK_STDERR; that of a task is looked for below a setuid runtime, which hides its
 * own. This process does not keep it open: a task alone decides when its output ends.
 */
static int open_stderr(const struct stat *task_stderr, pid_t parent, int depth)
{
    BERTH_FREE pid_t *children = NULL;
    size_t count = berth_process_children(parent, &children);
    int fd = -1;

    for (size_t i = 0; i < count && fd < 0; i++) {
        char name[64];
        struct stat it;

        snprintf(name, sizeof(name), "/proc/%d/fd/2", children[i]);
        if (stat(name, &it) == 0) {
            if (it.st_dev == task_stderr->st_dev && it.st_ino == task_stderr->st_ino)
                fd = open(name, O_WRONLY | O_APPEND | O_NOCTTY);
        } else if (depth > 0) {
            fd = open_stderr(task_stderr, children[i], depth - 1);
        }
    }
    return fd;
}

/* List the command line of berth-mpi, in the order of berth_singleton_run(). */
static void list_arguments(const struct berth_binder *it, const struct mapped *mapped,
                           struct berth_strvec *ret)
{
    const struct berth_launch *launch = it->launch;
    const struct berth_order_step *step = &launch->order->step;
    const char *het = "";
    const char *several = "";

    if (berth_order_het_step(step, launch->environment))
        het = "het";
    if (step->is_several)
        several = "several";

    berth_strvec_push(ret, "berth-mpi");
    berth_strvec_push(ret, "--singleton");
    berth_strvec_pushf(ret, "%d", mapped->pid);
    berth_strvec_pushf(ret, "%d", it->holder.pid);
    berth_strvec_push(ret, mapped->path);
    berth_strvec_push(ret, value_of(launch, "SLURM_MPI_TYPE"));
    berth_strvec_push(ret, value_of(launch, "SLURM_NTASKS"));
    berth_strvec_push(ret, launch->node);
    berth_strvec_push(ret, berth_request_name(launch->request));
    berth_strvec_push(ret, het);
    berth_strvec_push(ret, berth_text_or(launch->request->mpi, ""));
    berth_strvec_push(ret, several);
}

/* Become berth-mpi, which judges what was found. */
static void judge(const struct berth_binder *it, const struct stat *task_stderr,
                  const char *no_cma, const struct mapped *mapped)
{
    static char *const environment[] = {NULL};
    const struct berth_launch *launch = it->launch;
    BERTH_STRVEC struct berth_strvec argv = {0};

    if (open_stderr(task_stderr, it->parent, 1) != STDERR_FILENO)
        return;
    if (no_cma && !launch->order->step.is_one_file)
        berth_report_line(STDERR_FILENO, launch->node, BERTH_NOTICE_NO_CMA,
                          berth_request_name(launch->request), no_cma);
    list_arguments(it, mapped, &argv);
    if (argv.failed)
        return;
    execve(berth_installed(BERTH_LIBEXECDIR "/berth-mpi"), argv.items, environment);
}

/* Warn of the mpirun that several tasks start. A step whose command is an mpirun had
 * the warning of berth_mpirun_is_repeated(). */
static void warn_of_starters(const struct berth_binder *it,
                             const struct stat *task_stderr,
                             const struct mapped *mapped)
{
    const struct berth_launch *launch = it->launch;
    struct berth_err sentence;

    if (berth_mpi_is_starter(launch->command[0]) ||
        open_stderr(task_stderr, it->parent, 1) != STDERR_FILENO)
        return;
    berth_mpirun_describe_worlds("several tasks start", mapped->starter, &sentence);
    berth_report_line(STDERR_FILENO, launch->node, "warning: image '%s': %s",
                      berth_request_name(launch->request), sentence.text);
}

/* What the watching process knows. */
struct watcher {
    const struct berth_binder *it;
    const char *no_cma;
    struct stat task_stderr;
};

/* In a child: look for an MPI until the supervisor closes its end of CHANNEL. */
static int watch(int channel, void *data)
{
    const struct watcher *watcher = data;
    struct pollfd supervisor = {.fd = STDIN_FILENO, .events = POLLIN};
    struct mapped mapped = {.it = watcher->it};
    int64_t since = berth_clock();
    unsigned int turn = 0;

    dup2(channel, STDIN_FILENO);
    berth_close_from(STDERR_FILENO);

    while (!mapped.path && !mapped.is_repeated) {
        bool is_over = poll(&supervisor, 1, berth_clock_pause(since)) != 0;

        if (is_over)
            return EXIT_SUCCESS;
        find_mpi(turn, &mapped);
        turn++;
    }

    if (mapped.is_repeated)
        warn_of_starters(watcher->it, &watcher->task_stderr, &mapped);
    else
        judge(watcher->it, &watcher->task_stderr, watcher->no_cma, &mapped);
    return EXIT_SUCCESS;
}

/* The question is that of --mpi-bind=hybrid, which looks at the same MPI. */
char *berth_singletons_forecast(const struct berth_binder *binder)
{
    static char hybrid[] = "hybrid";
    struct berth_request request = *binder->launch->request; /* borrows */
    struct berth_launch launch = *binder->launch;
    struct berth_binder asked = *binder;
    struct berth_binder_witness witness = {0};
    struct berth_binding binding = {0};
    const char *wrong;
    char *forecast = NULL;
    struct berth_err err;

    request.mpi = hybrid;
    request.libs = NULL;
    launch.request = &request;
    asked.launch = &launch;

    if (berth_binder_run(&asked, &binding, &witness, &err) < 0)
        wrong = err.text;
    else
        wrong = binding.warning;
    if (wrong && asprintf(&forecast, "if the program uses MPI: %s", wrong) < 0)
        forecast = NULL;

    berth_binding_fini(&binding);
    berth_binder_end(&witness, false);
    return forecast;
}

void berth_singletons_watch(const struct berth_binder *binder, const char *no_cma,
                            struct berth_binder_witness *ret)
{
    struct watcher watcher = {.it = binder, .no_cma = no_cma};
    pid_t child;
    int channel;

    if (fstat(binder->task_stderr, &watcher.task_stderr) < 0)
        return;
    child = berth_child_with_channel(watch, &watcher, SIGKILL, &channel);
    if (child > 0)
        *ret = (struct berth_binder_witness){child, channel};
}
