/* SPDX-License-Identifier: Apache-2.0 */
/* Checks, while a step runs, that its ranks use the host's MPI or fabric. */

#include "bindover/witness.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/text.h"
#include "run/notice.h"
#include "bindover/mapped.h"
#include "ipc/loadmark.h"
#include "ipc/loadmarks.h"
#include "container/namespaces.h"
#include "container/processes.h"
#include "ipc/report.h"

/* Milliseconds between a wrong MPI and the host's, for a program that loads both. */
enum { PATIENCE = 20 };

/* Milliseconds in which Slurm forwards a line, and between two inspections of a rank
 * that is right: its maps are long, and reading them holds its memory map. */
enum { FORWARDED = 100, SELDOM = 1000 };

struct watch {
    const struct berth_witness *witness;
    struct berth_rank *ranks;
    struct berth_mapped_files files;
    int marks;         /* the directory of the marks (ipc/loadmarks.h) */
    int mounts;        /* the mount namespace of the tasks */
    int64_t since;     /* when the last new task was found (berth_clock()) */
    bool has_reported; /* a wrong rank was reported */
    bool is_over;      /* the tasks have ended, or were killed */
    struct berth_record record;
    int record_fd; /* -1: the site wants no record */
};

static unsigned int count(const struct berth_witness *witness,
                          const struct berth_rank *ranks, enum berth_rank_state state)
{
    unsigned int found = 0;

    for (unsigned int i = 0; i < witness->tasks; i++)
        found += ranks[i].state == state;
    return found;
}

/* The first of RANKS in one of two states; NULL: there is none. */
static const struct berth_rank *find_rank(const struct berth_witness *witness,
                                          const struct berth_rank *ranks,
                                          enum berth_rank_state state,
                                          enum berth_rank_state other)
{
    for (unsigned int i = 0; i < witness->tasks; i++)
        if (ranks[i].state == state || ranks[i].state == other)
            return &ranks[i];
    return NULL;
}

static bool judge_both(const struct berth_witness *witness,
                       const struct berth_rank *ranks, struct berth_err *ret)
{
    const struct berth_rank *both =
        find_rank(witness, ranks, BERTH_RANK_BOTH, BERTH_RANK_BOTH);

    if (both)
        berth_err_set(ret,
                      "rank %u has loaded '%s' (%s) beside the host's %s, and either "
                      "may run; see LD_PRELOAD, or choose --mpi-bind=hybrid",
                      both->number, both->path, both->name, witness->binding.host);
    return both;
}

bool berth_witness_judge(const struct berth_witness *witness,
                         const struct berth_rank *ranks, struct berth_err *ret,
                         bool *ret_end)
{
    bool is_mixed = count(witness, ranks, BERTH_RANK_RIGHT) +
                        count(witness, ranks, BERTH_RANK_BOTH) >
                    0;
    const struct berth_rank *wrong =
        find_rank(witness, ranks, BERTH_RANK_WRONG, BERTH_RANK_ALONE);

    *ret_end = wrong && (witness->must || is_mixed);
    if (!wrong)
        return judge_both(witness, ranks, ret);
    if (wrong->state == BERTH_RANK_ALONE)
        berth_err_set(ret, "rank %u runs alone: %s", wrong->number,
                      witness->binding.because);
    else
        berth_err_set(
            ret,
            "rank %u runs with '%s' (%s) and not with the host's %s%s; have it "
            "load the image's MPI, over which the host's is mounted, or choose "
            "--mpi-bind=hybrid",
            wrong->number, wrong->path, wrong->name, witness->binding.host,
            is_mixed ? ", as other ranks on this node do" : "");
    return true;
}

void berth_witness_count(const struct berth_witness *witness,
                         const struct berth_rank *ranks, struct berth_err *ret)
{
    unsigned int right = count(witness, ranks, BERTH_RANK_RIGHT), beside = 0;
    const char *what =
        witness->binding.host ? witness->binding.host : witness->binding.fabric;

    for (unsigned int i = 0; i < witness->tasks; i++)
        beside += ranks[i].has_libraries;
    if (right == 0 && witness->binding.host)
        berth_err_set(ret, "no rank of this node was seen to load an MPI library");
    else
        berth_err_set(ret, "%u of %u ranks loaded the host's %s%s", right,
                      witness->tasks, what,
                      right < witness->tasks && witness->binding.host
                          ? ", and no MPI was seen in the others"
                          : "");
    if (witness->binding.host && witness->binding.fabric)
        berth_err_set(ret, "%s; %u loaded the host's %s", ret->text, beside,
                      witness->binding.fabric);
}

/* Prints SENTENCE. KIND: "note: ", "warning: ", or "" for an error. */
static void print_line(const struct berth_witness *witness, const char *kind,
                       const char *sentence)
{
    const struct berth_request *request = &witness->order->request;

    berth_report_line(STDERR_FILENO, witness->node, "%simage '%s': %s=%s: %s", kind,
                      berth_request_name(request), berth_request_cause(request),
                      berth_request_cause_value(request), sentence);
}

/* Adds a task in its own place or in the first free place: local numbers have gaps,
 * since tasks of other containers on this node have numbers, too. */
static void add_task(void *data, unsigned int local, pid_t pid, unsigned int number)
{
    struct watch *watch = data;
    struct berth_rank *rank = watch->ranks;
    struct berth_rank *end = rank + watch->witness->tasks;

    while (rank < end && rank->pid && rank->local != local)
        rank++;
    /* A program may have written the mark: kill(-1) would reach all of the user. */
    if (pid <= 0 || rank == end || rank->pid)
        return;
    rank->pid = pid;
    rank->process = berth_process_open(pid);
    rank->local = local;
    rank->number = number;
    watch->since = berth_clock();
}

/* Notes that the rank was seen with a wrong MPI: FILE, or one of the host's if FILE is
 * NULL or has no path. */
static void suspect(struct berth_rank *rank, const struct berth_mapped_file *file)
{
    if (rank->suspected)
        return;
    if (file && file->path) {
        rank->path = strdup(file->path);
        rank->name = strdup(file->name);
        if (!rank->path || !rank->name)
            return;
    }
    rank->suspected = berth_clock();
}

static bool has_waited(const struct berth_rank *rank)
{
    return berth_clock() >= rank->suspected + PATIENCE;
}

/* Judges a rank that is not right, or that has another MPI beside the host's, by the
 * state that was SEEN. FILE as for suspect(). */
static void judge_suspect(struct berth_rank *rank, enum berth_rank_state seen,
                          const struct berth_mapped_file *file)
{
    if (seen != BERTH_RANK_UNKNOWN) {
        suspect(rank, file);
        rank->suspicion = seen;
    }
    if (rank->suspected &&
        (rank->has_ended || (seen != BERTH_RANK_UNKNOWN && has_waited(rank))))
        rank->state = !rank->path                          ? BERTH_RANK_ALONE
                      : rank->suspicion == BERTH_RANK_BOTH ? BERTH_RANK_BOTH
                                                           : BERTH_RANK_WRONG;
}

static enum berth_rank_state state_of(const struct watch *watch, const char *stage)
{
    return watch->witness->binding.alone &&
                   strcmp(stage, watch->witness->binding.alone) == 0
               ? BERTH_RANK_ALONE
               : BERTH_RANK_RIGHT;
}

/* The state of the rank by its marks. */
static enum berth_rank_state read_marks(const struct watch *watch,
                                        const struct berth_rank *rank)
{
    const struct berth_strvec *stages = &watch->witness->stages;
    enum berth_rank_state state = BERTH_RANK_UNKNOWN;

    for (size_t i = 0; i < stages->count; i += 2) {
        const char *stage = berth_text_base(stages->items[i]);

        if (state != BERTH_RANK_RIGHT &&
            berth_loadmarks_has(watch->marks, rank->local, rank->pid, stage))
            state = state_of(watch, stage);
    }
    return state;
}

/* The state of a rank by what its processes have mapped, *RET_FILE. */
static enum berth_rank_state read_maps(struct watch *watch, pid_t pid,
                                       const struct berth_mapped_file **ret_file)
{
    switch (berth_mapped_inspect(&watch->files, pid, ret_file)) {
    case BERTH_MAPPED_STAGED:
        return state_of(watch, (*ret_file)->stage);
    case BERTH_MAPPED_OTHER:
        return BERTH_RANK_WRONG;
    case BERTH_MAPPED_BOTH:
        return BERTH_RANK_BOTH;
    default:
        return BERTH_RANK_UNKNOWN;
    }
}

/* A mark shows that the host's MPI is loaded, and not that it answers. So the maps of a
 * rank with a mark are read, too. */
static void inspect_mpi(struct watch *watch, struct berth_rank *rank)
{
    const struct berth_mapped_file *file = NULL;
    enum berth_rank_state marked = read_marks(watch, rank);
    enum berth_rank_state seen =
        rank->has_ended ? BERTH_RANK_UNKNOWN : read_maps(watch, rank->pid, &file);
    bool is_both = seen == BERTH_RANK_BOTH ||
                   (rank->has_ended && rank->suspicion == BERTH_RANK_BOTH);
    bool is_right = marked == BERTH_RANK_RIGHT || seen == BERTH_RANK_RIGHT ||
                    rank->state == BERTH_RANK_RIGHT;

    rank->has_libraries |= !rank->has_ended && watch->files.has_beside;
    if (!watch->witness->binding.host) { /* the image's own MPI is right, too */
        if (is_right || is_both)
            rank->state = BERTH_RANK_RIGHT;
    } else if (is_both && marked != BERTH_RANK_ALONE) {
        judge_suspect(rank, seen, file);
    } else if (is_right) {
        rank->state = BERTH_RANK_RIGHT;
        rank->suspicion = BERTH_RANK_UNKNOWN;
    } else if (marked == BERTH_RANK_UNKNOWN) {
        judge_suspect(rank, seen, file);
    } else {
        judge_suspect(rank, marked, NULL);
    }
}

/* May a later inspection of the rank show more? The host's MPI may be joined by another
 * one in the same process, but not the host's libraries under the image's own MPI. */
static bool is_open(const struct berth_witness *witness, const struct berth_rank *rank)
{
    return rank->state == BERTH_RANK_UNKNOWN ||
           (rank->state == BERTH_RANK_RIGHT && witness->binding.host);
}

bool berth_witness_is_due(const struct berth_witness *witness,
                          const struct berth_rank *rank, long long now)
{
    return is_open(witness, rank) &&
           (rank->state == BERTH_RANK_UNKNOWN || rank->has_ended ||
            now >= rank->inspected + SELDOM);
}

/* Sends signal NUMBER to the process of the rank, and to no other that has its number
 * later. Returns as kill(2). */
static int signal_rank(const struct berth_rank *rank, int number)
{
    return rank->process >= 0 ? berth_process_signal(rank->process, number)
                              : kill(rank->pid, number);
}

/* Checks first whether a rank has ended and then reads its marks, so that no mark is
 * missed. */
static void inspect_ranks(struct watch *watch)
{
    berth_loadmarks_each(watch->marks, add_task, watch);
    for (unsigned int i = 0; i < watch->witness->tasks; i++) {
        struct berth_rank *rank = &watch->ranks[i];

        if (!rank->pid)
            continue;
        rank->has_ended |=
            watch->is_over || (signal_rank(rank, 0) < 0 && errno == ESRCH);
        if (!berth_witness_is_due(watch->witness, rank, berth_clock()))
            continue;
        inspect_mpi(watch, rank);
        rank->inspected = berth_clock();
    }
}

static void signal_ranks(const struct watch *watch, int number)
{
    for (unsigned int i = 0; i < watch->witness->tasks; i++)
        if (watch->ranks[i].pid && !watch->ranks[i].has_ended)
            signal_rank(&watch->ranks[i], number);
}

/* Kills the tasks with SIGKILL, because a program that survives another signal could
 * end with status 0. When a task has been killed, srun may end the step and print no
 * further line of it (seen with Slurm 22.05). So the tasks are stopped first, until the
 * line has arrived. */
static void end_tasks(struct watch *watch)
{
    watch->is_over = true;
    signal_ranks(watch, SIGSTOP);
    poll(NULL, 0, FORWARDED);
    berth_namespaces_kill(watch->mounts, watch->witness->holder.pid);
    signal_ranks(watch, SIGKILL);
}

/* Reports a wrong rank once, and once more if the warning becomes an error. */
static void report_wrong(struct watch *watch)
{
    struct berth_err sentence;
    bool end;

    if (!berth_witness_judge(watch->witness, watch->ranks, &sentence, &end) ||
        (watch->has_reported && !end))
        return;
    print_line(watch->witness, end ? "" : "warning: ", sentence.text);
    watch->has_reported = true;
    if (end)
        end_tasks(watch);
}

/* Is each rank known, or has it ended? */
static bool is_done(const struct watch *watch)
{
    for (unsigned int i = 0; i < watch->witness->tasks; i++)
        if (!watch->ranks[i].pid ||
            (is_open(watch->witness, &watch->ranks[i]) && !watch->ranks[i].has_ended))
            return false;
    return true;
}

/* Milliseconds until the next inspection. */
static int next_pause(const struct watch *watch)
{
    for (unsigned int i = 0; i < watch->witness->tasks; i++)
        if (watch->ranks[i].suspected && !has_waited(&watch->ranks[i]))
            return PATIENCE;
    return berth_clock_pause(watch->since);
}

/* Entering a user namespace clears the death signal (prctl(2)), so it is set again.
 * False: the container has ended, or has no marks. */
static bool enter_namespaces(struct watch *watch)
{
    watch->mounts = berth_holder_open(watch->witness->holder);
    watch->marks =
        watch->mounts < 0 ? -1 : berth_loadmarks_open(watch->witness->holder.pid);
    if (berth_namespaces_enter_user(watch->witness->holder.pid) == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return watch->marks >= 0;
}

/* Opens the site's record before the process enters the user namespace, where files of
 * root seem to belong to nobody. */
static void open_record(struct watch *watch)
{
    const struct berth_witness *witness = watch->witness;
    struct berth_err err;

    if (!witness->order->record)
        return;
    watch->record = (struct berth_record){.environment = witness->environment,
                                          .node = witness->node,
                                          .order = witness->order};
    watch->record_fd = berth_record_open(&watch->record, &err);
    if (watch->record_fd < 0 && witness->verbose)
        berth_report_line(STDERR_FILENO, witness->node,
                          "warning: no record is kept: %s", err.text);
}

static void write_record(struct watch *watch)
{
    const struct berth_witness *witness = watch->witness;
    const struct berth_record_witnessed witnessed = {
        .host = witness->binding.host,
        .ranks = witness->tasks,
        .loaded = count(witness, watch->ranks, BERTH_RANK_RIGHT),
        .other = count(witness, watch->ranks, BERTH_RANK_WRONG) +
                 count(witness, watch->ranks, BERTH_RANK_ALONE) +
                 count(witness, watch->ranks, BERTH_RANK_BOTH),
        .fabric = witness->binding.host ? NULL : witness->binding.fabric};

    if (watch->record_fd < 0)
        return;
    watch->record.time = time(NULL);
    watch->record.witnessed = &witnessed;
    berth_record_put(&watch->record, watch->record_fd, NULL);
    close(watch->record_fd);
}

static void watch_ranks(struct watch *watch)
{
    struct pollfd supervisor = {.fd = STDIN_FILENO, .events = POLLIN};

    watch->since = berth_clock();
    while (!watch->is_over && !is_done(watch)) {
        if (poll(&supervisor, 1, next_pause(watch)) > 0)
            watch->is_over = true;
        inspect_ranks(watch);
        report_wrong(watch);
    }
}

/* Did the ranks of a step of several tasks, which asks for the host's MPI and does not
 * fail, load none? */
static bool misses_mpi(const struct watch *watch)
{
    const struct berth_witness *witness = watch->witness;
    char failed; /* what the supervisor sends at the end if a task has */

    return witness->must && witness->binding.host &&
           witness->order->step.prints_component && witness->order->step.tasks > 1 &&
           count(witness, watch->ranks, BERTH_RANK_RIGHT) == 0 &&
           read(STDIN_FILENO, &failed, 1) <= 0;
}

void berth_witness_run(const struct berth_witness *witness)
{
    struct watch watch = {
        .witness = witness, .marks = -1, .mounts = -1, .record_fd = -1};
    struct berth_err sentence;
    bool is_there;

    watch.ranks = calloc(witness->tasks, sizeof(*watch.ranks));
    if (!watch.ranks)
        return;
    for (size_t i = 0; i < witness->stages.count; i += 2)
        berth_mapped_add_stage(
            &watch.files, witness->stages.items[i], witness->stages.items[i + 1],
            witness->binding.host &&
                    strcmp(witness->stages.items[i + 1], BERTH_MARK_LIBRARY) != 0
                ? BERTH_MAPPED_BESIDE
                : BERTH_MAPPED_STAGED);
    open_record(&watch);
    is_there = enter_namespaces(&watch);
    if (is_there)
        watch_ranks(&watch);
    write_record(&watch); /* of a container that has ended, too */
    berth_witness_count(witness, watch.ranks, &sentence);
    if (is_there && !watch.has_reported && misses_mpi(&watch))
        print_line(witness, "warning: ", sentence.text);
    else if (is_there && !watch.has_reported && witness->verbose &&
             !witness->order->step.is_one_file)
        print_line(witness, "note: ", sentence.text);
    for (unsigned int i = 0; i < witness->tasks; i++) {
        if (watch.ranks[i].pid && watch.ranks[i].process >= 0)
            close(watch.ranks[i].process);
        free(watch.ranks[i].path);
        free(watch.ranks[i].name);
    }
    free(watch.ranks);
    berth_mapped_fini(&watch.files);
}

void berth_witness_fini(struct berth_witness *witness)
{
    berth_binding_fini(&witness->binding);
    berth_strvec_fini(&witness->stages);
    *witness = (struct berth_witness){0};
}
