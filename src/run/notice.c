/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that the first task of a node prints, and the record that it appends,
 * before it becomes the command.
 */

#include "run/notice.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/strvec.h"
#include "base/text.h"
#include "image/image.h"
#include "ipc/report.h"
#include "container/runtime.h"

bool berth_notice_is_verbose(char *const *environment)
{
    enum { USUAL = 3 }; /* without -v (LOG_LEVEL_INFO of Slurm's log.h) */
    const char *level = berth_environ_value(environment, "SRUN_DEBUG");

    return level && atoi(level) > USUAL;
}

static bool is_verbose(const struct berth_task *task)
{
    return berth_notice_is_verbose(task->launch.environment);
}

/* Has berth chosen whose libraries run, and not the user? */
static bool has_chosen(const struct berth_task *task)
{
    const struct berth_request *request = &task->order.request;

    if (berth_request_mpi_is(request, BERTH_MODE_AUTO))
        return true;
    return berth_request_has_auto_libs(request) && !task->binding.host;
}

/* Print whose MPI runs: all, if the user asks; what berth has chosen, once for the
 * step. */
static void print_choice(const struct berth_task *task)
{
    const struct berth_request *request = &task->order.request;
    const struct berth_binding *binding = &task->binding;
    const bool is_asked = is_verbose(task) || berth_request_is_explained(request);
    const char *note = binding->note;

    if (!is_asked && !(task->order.step.prints_step && has_chosen(task)))
        return;
    /* who does not ask for more gets the short form, if there is one */
    if (!is_asked && !berth_request_has_libs(request) && binding->choice)
        note = binding->choice;
    if (note && *note)
        berth_report_line(STDERR_FILENO, task->launch.node, "note: %s", note);
}

/* Print what may go wrong with that MPI. */
static void print_warning(const struct berth_task *task)
{
    const struct berth_request *request = &task->order.request;
    const struct berth_binding *binding = &task->binding;

    if (binding->warning && (is_verbose(task) || task->order.step.prints_component))
        berth_report_line(STDERR_FILENO, task->launch.node,
                          "warning: image '%s': %s=%s: %s", berth_request_name(request),
                          berth_request_cause(request),
                          berth_request_cause_value(request), binding->warning);
}

/* Print that ranks of this node in different images do not read each other's memory.
 * Without --mpi-bind, that is printed when a task loads an MPI (run/singletons.h). */
static void print_no_cma(const struct berth_task *task, const char *separate)
{
    const struct berth_order *order = &task->order;
    const char *why = berth_text_or(separate, task->binding.no_cma);
    const bool has_others = order->container.others + order->container.hosts > 0;

    if (!why || !has_others || !berth_request_mpi_chosen(&order->request))
        return;
    if (order->step.prints_component || is_verbose(task))
        berth_report_line(STDERR_FILENO, task->launch.node, BERTH_NOTICE_NO_CMA,
                          berth_request_name(&order->request), why);
}

/* Print how many containers there are, and why. */
static void print_container(const struct berth_task *task, const char *separate)
{
    const unsigned int tasks = task->order.container.tasks;
    const char *kind = "one container for";
    BERTH_BUF struct berth_buf text = {0};

    if (separate)
        kind = "a container for each of";
    else if (task->binding.is_jobs)
        kind = "the job's container for";

    berth_buf_addf(&text, "%s %u task", kind, tasks);
    if (tasks != 1)
        berth_buf_puts(&text, "s");
    if (separate)
        berth_buf_part(&text, ": ", separate, "");
    else
        berth_buf_part(&text, ", not the job's: ", task->binding.no_job, "");
    if (!text.failed)
        berth_report_line(STDERR_FILENO, task->launch.node, "note: image '%s': %s",
                          berth_request_name(&task->order.request), text.text);
}

enum { LIBRARIES, COPIES, COSTS };

static const char *const costs[COSTS] = {
    "host's libraries beside the image's, which may break its programs",
    "MPI copies each message within a node twice",
};

/* What scripts set to bring the host's MPI into a container of each rank, and a part of
 * such a value: any other value is the user's own. */
static const struct {
    const char *name, *part;
    int cost;
} recipe[] = {
    {"APPTAINERENV_LD_LIBRARY_PATH", "/opt/cray", LIBRARIES},
    {"APPTAINERENV_LD_LIBRARY_PATH", "mpi/", LIBRARIES},
    {"SINGULARITYENV_LD_LIBRARY_PATH", "/opt/cray", LIBRARIES},
    {"SINGULARITYENV_LD_LIBRARY_PATH", "mpi/", LIBRARIES},
    {"APPTAINER_BIND", "/opt/cray", LIBRARIES},
    {"APPTAINER_BIND", ".so", LIBRARIES},
    {"SINGULARITY_BIND", "/opt/cray", LIBRARIES},
    {"SINGULARITY_BIND", ".so", LIBRARIES},
    {"APPTAINER_CONTAINLIBS", "/", LIBRARIES},
    {"SINGULARITY_CONTAINLIBS", "/", LIBRARIES},
    {"MPICH_SMP_SINGLE_COPY_MODE", "NONE", COPIES},
    {"OMPI_MCA_btl_vader_single_copy_mechanism", "none", COPIES},
    {"UCX_TLS", "^cma", COPIES},
};

/* List the variables of ENVIRONMENT that COST, and are set as in the recipe. */
static void list_recipe(char *const *environment, int cost, struct berth_strvec *ret)
{
    for (size_t i = 0; i < sizeof(recipe) / sizeof(recipe[0]); i++) {
        const char *value = berth_environ_value(environment, recipe[i].name);

        if (recipe[i].cost != cost || !value)
            continue;
        if (strcasestr(value, recipe[i].part))
            berth_strvec_push_once(ret, recipe[i].name);
    }
}

/* Print which of these --mpi-bind does not need. SEPARATE: why each task has a
 * container of its own; NULL: tasks share one. Copies are a cost only if ranks can read
 * each other's memory. */
static void print_recipe(const struct berth_task *task, const char *separate)
{
    const bool is_shared = !separate && !task->binding.no_cma;
    BERTH_BUF struct berth_buf text = {0};

    for (int cost = 0; cost < COSTS; cost++) {
        BERTH_STRVEC struct berth_strvec names = {0};

        if (cost == COPIES && !is_shared)
            continue;
        list_recipe(task->launch.environment, cost, &names);
        if (names.count == 0)
            continue;
        if (text.used > 0)
            berth_buf_puts(&text, ", ");
        berth_strvec_join(&names, ", ", &text);
        berth_buf_addf(&text, " (%s)", costs[cost]);
    }
    if (text.used && !text.failed)
        berth_report_line(STDERR_FILENO, task->launch.node,
                          "note: with --mpi-bind unset %s", text.text);
}

/* Print the notes on its containers. */
static void print_containers(const struct berth_task *task, const char *separate)
{
    const struct berth_binding *binding = &task->binding;
    const bool may_write = task->order.request.writable == BERTH_YES;

    if (binding->written && !binding->overlay && !separate)
        berth_report_line(STDERR_FILENO, task->launch.node,
                          "note: what tasks write to the image stays in %s",
                          binding->written);
    if (is_verbose(task) || (binding->no_job && may_write))
        print_container(task, separate);
}

void berth_notice_print(const struct berth_task *task,
                        const struct berth_rendezvous *rendezvous, const char *why)
{
    const struct berth_request *request = &task->order.request;
    const bool has_notes = !task->order.step.is_one_file;
    const bool uses_mpi = berth_request_mpi_chosen(request);

    if (has_notes)
        print_choice(task);
    print_warning(task);
    if (has_notes)
        print_no_cma(task, why);
    if (has_notes && task->order.step.prints_step && uses_mpi)
        print_recipe(task, why);
    if (rendezvous->page->is_unpacked)
        berth_report_line(STDERR_FILENO, task->launch.node, BERTH_NOTICE_UNPACKED,
                          berth_request_name(request));
    if (has_notes)
        print_containers(task, why);
}

/* May a record be written to the file FD? In a directory of several users, another user
 * may have made the file first. So a file that is not root's must be a regular file of
 * this user, with one name. */
static bool is_trusted(int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return false;
    if (st.st_uid == 0)
        return true;
    return st.st_uid == geteuid() && S_ISREG(st.st_mode) && st.st_nlink == 1;
}

static int refuse(const char *path, const char *why, struct berth_err *err)
{
    return berth_err_set(err,
                         "provenance.file '%s': %s; ask the administrators to let you "
                         "write there",
                         path, why);
}

/* A pipe that nobody reads must not stop a step. */
int berth_record_open(struct berth_record *record, struct berth_err *err)
{
    const struct passwd *user = getpwuid(getuid());
    BERTH_FREE char *path = NULL;
    int fd;

    if (user)
        record->user = user->pw_name;
    if (berth_record_path(record, &path, err) < 0)
        return -1;
    fd = open(path,
              O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
                  O_NOFOLLOW,
              0644);
    if (fd >= 0 && is_trusted(fd))
        return fd;
    if (fd < 0 && errno != ELOOP)
        return refuse(path, strerror(errno), err);
    if (fd >= 0)
        close(fd);
    return refuse(path, "it is a link, or not a file of yours or root's", err);
}

/* In one write, so that records of several steps do not mix on a local file system. */
int berth_record_put(const struct berth_record *record, int fd, struct berth_err *err)
{
    BERTH_FREE char *path = NULL;
    BERTH_BUF struct berth_buf line = {0};
    ssize_t written;

    if (berth_record_path(record, &path, err) < 0 ||
        berth_record_write(record, &line, err) < 0)
        return -1;
    written = write(fd, line.text, line.used);
    if (written == (ssize_t)line.used)
        return 0;
    if (written < 0)
        return refuse(path, strerror(errno), err);
    return refuse(path, "only a part was written", err);
}

static int append_record(const struct berth_task *task, const char *why,
                         struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec image = {0};
    BERTH_FREE char *version = berth_runtime_version(task->launch.runtime);
    BERTH_CLOSE int fd = -1;
    struct berth_record record = {.time = time(NULL),
                                  .environment = task->launch.environment,
                                  .node = task->launch.node,
                                  .order = &task->order,
                                  .image = &image,
                                  .runtime = task->launch.runtime,
                                  .runtime_version = version,
                                  .note = task->binding.note,
                                  .separate = why};

    if (berth_image_describe(task->order.request.image, &image, err) < 0)
        return -1;
    fd = berth_record_open(&record, err);
    if (fd < 0)
        return -1;
    return berth_record_put(&record, fd, err);
}

void berth_notice_record(const struct berth_task *task, const char *why)
{
    struct berth_err err;

    if (append_record(task, why, &err) < 0 && is_verbose(task))
        berth_report_line(STDERR_FILENO, task->launch.node,
                          "warning: no record is kept: %s", err.text);
}
