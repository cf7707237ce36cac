/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that the first task of a node prints, and the record that it appends,
 * before it becomes the command.
 */

#include "run/notice.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "step/runtime.h"
#include "step/report.h"
#include "run/record.h"

bool berth_notice_is_verbose(char *const *environment)
{
    enum { USUAL = 3 }; /* without -v (LOG_LEVEL_INFO of Slurm's log.h) */
    const char *level = berth_environ_value(environment, "SRUN_DEBUG");

    return level && atoi(level) > USUAL;
}

static bool is_verbose(const struct berth_notice *notice)
{
    return berth_notice_is_verbose(notice->environment);
}

/* Does this node print all of whose MPI runs, because the user asks? */
static bool says_all(const struct berth_notice *notice)
{
    return is_verbose(notice) || berth_request_is_explained(&notice->order->request);
}

/* Does this node print it for the step, because berth has chosen the MPI? */
static bool says_choice(const struct berth_notice *notice)
{
    const struct berth_request *request = &notice->order->request;

    return notice->order->step.prints_step &&
           (berth_request_mpi_is(request, BERTH_MODE_AUTO) ||
            (berth_request_has_auto_libs(request) && !notice->binding->host));
}

/* Append NOTE to RET without the sentence that the host's C library comes with its MPI,
 * unless the site forbids that: there is nothing else to do about it. */
static void put_choice(const char *note, struct berth_buf *ret)
{
    static const char glibc[] = " brings the host's C library with it, ",
                      forbidden[] = "this site does not allow";

    while (*note) {
        const char *end = strstr(note, "; ");
        size_t length = end ? (size_t)(end - note) : strlen(note);

        if (!memmem(note, length, glibc, strlen(glibc)) ||
            memmem(note, length, forbidden, strlen(forbidden)))
            berth_buf_addf(ret, "%s%.*s", ret->used ? "; " : "", (int)length, note);
        note += length + (end ? strlen("; ") : 0);
    }
}

/* Print whose MPI runs, and what may go wrong. */
static void print_choice(const struct berth_notice *notice)
{
    const struct berth_request *request = &notice->order->request;
    const char *note = notice->binding->note;
    const char *warning = notice->binding->warning;
    BERTH_BUF struct berth_buf choice = {0};

    if (note && !says_all(notice) && !berth_request_has_libs(request)) {
        put_choice(note, &choice);
        note = choice.text;
    }
    if (note && (says_all(notice) || says_choice(notice)))
        berth_report_line(STDERR_FILENO, notice->node, "note: %s", note);
    if (warning && (is_verbose(notice) || notice->order->step.prints_component))
        berth_report_line(STDERR_FILENO, notice->node, "warning: image '%s': %s=%s: %s",
                          berth_request_name(request), berth_request_cause(request),
                          berth_request_cause_value(request), warning);
}

/* Print that ranks of this node in different images do not read each other's memory.
 * Without --mpi-bind, that is printed when a task loads an MPI (run/singletons.h). */
static void print_no_cma(const struct berth_notice *notice)
{
    const struct berth_order *order = notice->order;
    const char *why = notice->apart ? notice->apart : notice->binding->no_cma;

    if (why && berth_request_mpi_chosen(&order->request) &&
        order->container.others + order->container.hosts > 0 &&
        (order->step.prints_component || is_verbose(notice)))
        berth_report_line(STDERR_FILENO, notice->node, BERTH_NOTICE_NO_CMA,
                          berth_request_name(&order->request), why);
}

/* Print how many containers there are, and why. */
static void print_container(const struct berth_notice *notice)
{
    unsigned int tasks = berth_rendezvous_tasks(notice->rendezvous);
    const char *kind =
        notice->binding->is_jobs ? "the job's container for" : "one container for";
    const char *why = notice->apart ? notice->apart : notice->binding->no_job;

    if (notice->apart)
        kind = "a container for each of";
    berth_report_line(STDERR_FILENO, notice->node, "note: image '%s': %s %u task%s%s%s",
                      berth_request_name(&notice->order->request), kind, tasks,
                      tasks == 1 ? "" : "s",
                      why && !notice->apart ? ", not the job's: "
                      : why                 ? ": "
                                            : "",
                      why ? why : "");
}

void berth_notice_print(const struct berth_notice *notice)
{
    print_choice(notice);
    print_no_cma(notice);
    if (berth_rendezvous_is_unpacked(notice->rendezvous))
        berth_report_line(STDERR_FILENO, notice->node, BERTH_NOTICE_UNPACKED,
                          berth_request_name(&notice->order->request));
    if (is_verbose(notice) ||
        (notice->binding->no_job && notice->order->request.writable == BERTH_YES))
        print_container(notice);
}

static int append_record(const struct berth_notice *notice, struct berth_err *err)
{
    const struct berth_order *order = notice->order;
    BERTH_FREE char *runtime = NULL;
    struct berth_record record = {.time = time(NULL),
                                  .environment = notice->environment,
                                  .node = notice->node,
                                  .order = order,
                                  .apart = notice->apart};

    if (berth_runtime_find(notice->runtime,
                           berth_environ_value(notice->environment, "PATH"), &runtime,
                           err) < 0)
        return -1;
    record.runtime = runtime;
    record.note = notice->binding->note;
    return berth_record_append(&record, err);
}

void berth_notice_record(const struct berth_notice *notice)
{
    struct berth_err err;

    if (append_record(notice, &err) < 0 && is_verbose(notice))
        berth_report_line(STDERR_FILENO, notice->node, "warning: no record is kept: %s",
                          err.text);
}
