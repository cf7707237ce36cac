/* SPDX-License-Identifier: Apache-2.0 */
/* Checks, while a step runs, that its ranks use the host's MPI or fabric. */

#include "bindover/witness.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
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
#include "container/starters.h"
#include "request/mpirun.h"
#include "ipc/channel.h"
#include "ipc/report.h"

/* Milliseconds between a wrong MPI and the host's, for a program that loads both; and
 * between two inspections while MPI_Init of another MPI may follow, for so long. */
enum { PATIENCE = 20, EXPECTED = 2000 };

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
    bool has_starters; /* it was reported that several ranks start an mpirun */
    bool is_over;      /* the tasks have ended, or were killed */
    struct berth_record record;
    int record_fd; /* -1: the site wants no record */
};

static unsigned int count(const struct berth_witness *witness,
                          const struct berth_rank *ranks, enum berth_rank_state state)
{
    unsigned int found = 0;

    for (unsigned int i = 0; i < witness->tasks; i++)
        if (ranks[i].state == state)
            found++;
    return found;
}

/* The first of RANKS in STATE; NULL: there is none. */
static const struct berth_rank *find_rank(const struct berth_witness *witness,
                                          const struct berth_rank *ranks,
                                          enum berth_rank_state state)
{
    for (unsigned int i = 0; i < witness->tasks; i++)
        if (ranks[i].state == state)
            return &ranks[i];
    return NULL;
}

/* The first rank to report, of the gravest kind; NULL: there is none. */
static const struct berth_rank *find_reported(const struct berth_witness *witness,
                                              const struct berth_rank *ranks)
{
    const struct berth_rank *found = NULL;

    for (enum berth_rank_state state = BERTH_RANK_WRONG;
         state <= BERTH_RANK_COPY && !found; state++)
        found = find_rank(witness, ranks, state);
    return found;
}

/* Does a rank of the node use the host's MPI? */
static bool has_right(const struct berth_witness *witness,
                      const struct berth_rank *ranks)
{
    return find_rank(witness, ranks, BERTH_RANK_RIGHT) ||
           find_rank(witness, ranks, BERTH_RANK_SECOND) ||
           find_rank(witness, ranks, BERTH_RANK_BOTH) ||
           find_rank(witness, ranks, BERTH_RANK_MAYBE);
}

#define REMEDY                                                                         \
    "have it load the image's MPI, over which the host's is mounted, or choose "       \
    "--mpi-bind=hybrid"
#define REMEDY_PRELOAD "see LD_PRELOAD, or choose --mpi-bind=hybrid"

/* Sets RET to the sentence about RANK, which runs with another MPI. */
static void describe_wrong(const struct berth_witness *witness,
                           const struct berth_rank *rank, bool is_mixed,
                           struct berth_err *ret)
{
    const char *comparison = "";

    if (is_mixed)
        comparison = ", as other ranks on this node do";
    berth_err_set(
        ret, "rank %u runs with '%s' (%s) and not with the host's %s%s; " REMEDY,
        rank->number, rank->path, rank->name, witness->binding.host, comparison);
}

static void describe_second(const struct berth_witness *witness,
                            const struct berth_rank *rank, struct berth_err *ret)
{
    berth_err_set(ret,
                  "a program of rank %u runs with '%s' (%s), though another one has "
                  "loaded the host's %s; " REMEDY,
                  rank->number, rank->path, rank->name, witness->binding.host);
}

static void describe_beside(const struct berth_witness *witness,
                            const struct berth_rank *rank, struct berth_err *ret)
{
    berth_err_set(ret,
                  "rank %u runs with '%s' (%s), which it has loaded beside the host's "
                  "%s; " REMEDY_PRELOAD,
                  rank->number, rank->path, rank->name, witness->binding.host);
}

static void describe_both(const struct berth_witness *witness,
                          const struct berth_rank *rank, struct berth_err *ret)
{
    berth_err_set(ret,
                  "rank %u has loaded '%s' (%s) beside the host's %s, and either may "
                  "run; " REMEDY_PRELOAD,
                  rank->number, rank->path, rank->name, witness->binding.host);
}

static void describe_maybe(const struct berth_witness *witness,
                           const struct berth_rank *rank, struct berth_err *ret)
{
    berth_err_set(
        ret,
        "a program of rank %u has loaded '%s' (%s) and may run with it, though "
        "another one has loaded the host's %s; " REMEDY,
        rank->number, rank->path, rank->name, witness->binding.host);
}

static void describe_copy(const struct berth_witness *witness,
                          const struct berth_rank *rank, struct berth_err *ret)
{
    berth_err_set(ret,
                  "rank %u runs with '%s', a copy of the host's %s, on the image's "
                  "network libraries; " REMEDY,
                  rank->number, rank->path, witness->binding.host);
}

bool berth_witness_judge(const struct berth_witness *witness,
                         const struct berth_rank *ranks, struct berth_err *ret,
                         bool *ret_end)
{
    const struct berth_rank *rank = find_reported(witness, ranks);
    bool is_mixed = has_right(witness, ranks);

    *ret_end = false;
    if (!rank)
        return false;
    switch (rank->state) {
    case BERTH_RANK_WRONG:
        describe_wrong(witness, rank, is_mixed, ret);
        *ret_end = witness->must || is_mixed;
        break;
    case BERTH_RANK_ALONE:
        berth_err_set(ret, "rank %u runs alone: %s", rank->number,
                      witness->binding.because);
        *ret_end = witness->must || is_mixed;
        break;
    case BERTH_RANK_SECOND:
        describe_second(witness, rank, ret);
        *ret_end = witness->must;
        break;
    case BERTH_RANK_BESIDE:
        describe_beside(witness, rank, ret);
        *ret_end = witness->must;
        break;
    case BERTH_RANK_BOTH:
        describe_both(witness, rank, ret);
        break;
    case BERTH_RANK_MAYBE:
        describe_maybe(witness, rank, ret);
        break;
    default:
        describe_copy(witness, rank, ret);
        break;
    }
    return true;
}

bool berth_witness_judge_starters(const struct berth_witness *witness,
                                  const struct berth_rank *ranks, bool is_last,
                                  struct berth_err *ret)
{
    const struct berth_rank *first = NULL;
    unsigned int starters = 0;
    bool is_one_of_many;
    char who[32];

    for (unsigned int i = 0; i < witness->tasks; i++) {
        if (!ranks[i].starter)
            continue;
        starters++;
        if (!first)
            first = &ranks[i];
    }
    if (!first)
        return false;

    /* Rank 0 alone may well start an mpirun for all. */
    is_one_of_many = first->number > 0 && witness->order->step.tasks > 1;
    if (starters > 1)
        snprintf(who, sizeof(who), "several tasks start");
    else if (is_last && is_one_of_many)
        snprintf(who, sizeof(who), "rank %u starts", first->number);
    else
        return false;

    berth_mpirun_describe_worlds(who, first->starter, ret);
    return true;
}

/* Was a process of one of the ranks seen with an MPI that it has not initialized? */
static bool has_idle(const struct berth_witness *witness,
                     const struct berth_rank *ranks)
{
    for (unsigned int i = 0; i < witness->tasks; i++)
        if (ranks[i].idle_since > 0)
            return true;
    return false;
}

static unsigned int count_libraries(const struct berth_witness *witness,
                                    const struct berth_rank *ranks)
{
    unsigned int found = 0;

    for (unsigned int i = 0; i < witness->tasks; i++)
        if (ranks[i].has_libraries)
            found++;
    return found;
}

/* Sets RET to the sentence about the host's MPI. */
static void describe_mpi(const struct berth_witness *witness,
                         const struct berth_rank *ranks, struct berth_err *ret)
{
    unsigned int right = count(witness, ranks, BERTH_RANK_RIGHT);
    const char *others = "";

    if (right == 0 && has_idle(witness, ranks)) {
        berth_err_set(ret, "no rank of this node was seen to initialize MPI");
        return;
    }
    if (right == 0) {
        berth_err_set(ret, "no rank of this node was seen to load an MPI library");
        return;
    }

    if (right < witness->tasks)
        others = ", and no MPI was seen in the others";
    berth_err_set(ret, "%u of %u ranks loaded the host's %s%s", right, witness->tasks,
                  witness->binding.host, others);
}

void berth_witness_count(const struct berth_witness *witness,
                         const struct berth_rank *ranks, struct berth_err *ret)
{
    const struct berth_binding *binding = &witness->binding;

    /* The image's own MPI runs: the fabric is all that is the host's. */
    if (!binding->host) {
        berth_err_set(ret, "%u of %u ranks loaded the host's %s",
                      count(witness, ranks, BERTH_RANK_RIGHT), witness->tasks,
                      binding->fabric);
        return;
    }

    describe_mpi(witness, ranks, ret);
    if (binding->fabric)
        berth_err_set(ret, "%s; %u loaded the host's %s", ret->text,
                      count_libraries(witness, ranks), binding->fabric);
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

    /* A program may have written the mark: kill(-1) would reach all of the user. */
    if (pid <= 0)
        return;

    while (rank < end && rank->pid && rank->local != local)
        rank++;
    if (rank == end || rank->pid)
        return;

    rank->pid = pid;
    rank->process = berth_process_open(pid);
    rank->local = local;
    rank->number = number;
    watch->since = berth_clock();
}

/* What a rank may be, one of whose processes answers with another MPI. */
static enum berth_rank_state state_of_other(enum berth_answer_of_other answer)
{
    static const enum berth_rank_state states[] = {
        [BERTH_OTHER_NONE] = BERTH_RANK_UNKNOWN,
        [BERTH_OTHER_COPY] = BERTH_RANK_COPY,
        [BERTH_OTHER_EITHER] = BERTH_RANK_BOTH,
        [BERTH_OTHER_LOADED] = BERTH_RANK_MAYBE,
        [BERTH_OTHER_BESIDE] = BERTH_RANK_BESIDE,
        [BERTH_OTHER_ALONE] = BERTH_RANK_WRONG,
    };

    return states[answer];
}

/* Suspects that RANK is STATE, because of FILE; NULL: because of the host's. */
static void suspect(struct berth_rank *rank, enum berth_rank_state state,
                    const struct berth_mapped_file *file, long long now)
{
    if (file && (!rank->path || strcmp(rank->path, file->path) != 0)) {
        char *path = strdup(file->path);
        char *name = strdup(file->name);

        free(rank->path);
        free(rank->name);
        rank->path = path;
        rank->name = name;
    }
    if (rank->suspicion == BERTH_RANK_UNKNOWN)
        rank->suspected = now;
    rank->suspicion = state;
}

static bool has_waited(const struct berth_rank *rank, long long now)
{
    return now >= rank->suspected + PATIENCE;
}

/* Was a process seen that had initialized the other MPI and not the host's? */
static bool is_certain(enum berth_rank_state suspicion)
{
    return suspicion == BERTH_RANK_WRONG || suspicion == BERTH_RANK_BESIDE;
}

/* The state of a rank whose suspicion has proved true. */
static enum berth_rank_state confirm(enum berth_rank_state suspicion, bool is_right)
{
    switch (suspicion) {
    case BERTH_RANK_WRONG:
        return is_right ? BERTH_RANK_SECOND : BERTH_RANK_WRONG;
    case BERTH_RANK_MAYBE:
        return is_right ? BERTH_RANK_MAYBE : BERTH_RANK_WRONG;
    case BERTH_RANK_COPY:
        return is_right ? BERTH_RANK_RIGHT : BERTH_RANK_COPY;
    default:
        return suspicion;
    }
}

/* A mark shows that a process has loaded the host's MPI, and not that this MPI answers,
 * nor that it answers in other processes of the rank. So a rank with a mark may be
 * suspect, too. */
void berth_witness_update(const struct berth_witness *witness, struct berth_rank *rank,
                          const struct berth_rank_seen *seen, long long now)
{
    const struct berth_mapped_seen *mapped = seen->mapped;
    bool is_right = seen->state == BERTH_RANK_RIGHT || rank->state == BERTH_RANK_RIGHT;
    bool is_alone = seen->state == BERTH_RANK_ALONE && !is_right;
    enum berth_rank_state other = state_of_other(mapped->answer);
    bool is_gone, is_confirmed;

    rank->has_libraries |= mapped->has_beside;
    if (mapped->is_idle && rank->idle_since == 0)
        rank->idle_since = now;
    rank->has_initialized |= is_right && mapped->is_initialized;
    if (is_right)
        rank->state = BERTH_RANK_RIGHT;
    if (!witness->binding.host) /* the image's own MPI is right, too */
        return;

    if (is_alone)
        suspect(rank, BERTH_RANK_ALONE, NULL, now);
    else if (other != BERTH_RANK_UNKNOWN)
        suspect(rank, other, mapped->other, now);
    is_gone = !is_alone && other == BERTH_RANK_UNKNOWN;

    /* A program may load both, one after the other, and a tool may load one only. */
    if (is_gone && is_right && !rank->has_ended && !is_certain(rank->suspicion))
        rank->suspicion = BERTH_RANK_UNKNOWN;
    if (rank->suspicion == BERTH_RANK_UNKNOWN)
        return;
    if (rank->has_ended)
        is_confirmed = true;
    else if (is_gone)
        is_confirmed = is_right;
    else
        is_confirmed = has_waited(rank, now);
    if (is_confirmed)
        rank->state = confirm(rank->suspicion, is_right);
}

/* The state of a rank that uses the MPI of STAGE. */
static enum berth_rank_state state_of(const struct watch *watch, const char *stage)
{
    const char *alone = watch->witness->binding.alone;

    if (alone && strcmp(stage, alone) == 0)
        return BERTH_RANK_ALONE;
    return BERTH_RANK_RIGHT;
}

/* The state of the rank by its marks. */
static enum berth_rank_state read_marks(const struct watch *watch,
                                        const struct berth_rank *rank)
{
    const struct berth_strvec *stages = &watch->witness->stages;
    enum berth_rank_state state = BERTH_RANK_UNKNOWN;

    /* A mark of an MPI that reaches the other ranks outweighs one that does not. */
    for (size_t i = 0; i < stages->count && state != BERTH_RANK_RIGHT; i += 2) {
        const char *stage = berth_text_base(stages->items[i]);

        if (berth_loadmarks_has(watch->marks, rank->local, rank->pid, stage))
            state = state_of(watch, stage);
    }
    return state;
}

/* Notes an mpirun among the processes of a rank. */
static void find_starter(struct berth_rank *rank)
{
    struct berth_process starter;

    if (!rank->starter && berth_starters_find(rank->pid, &starter))
        rank->starter = strdup(starter.name);
}

/* Looks at the marks of a rank, and at its processes if it has any. */
static void inspect_rank(struct watch *watch, struct berth_rank *rank)
{
    struct berth_mapped_seen mapped = {0};
    struct berth_rank_seen seen = {read_marks(watch, rank), &mapped};

    if (!rank->has_ended) {
        berth_mapped_inspect(&watch->files, rank->pid, &mapped);
        find_starter(rank);
    }
    if (seen.state == BERTH_RANK_UNKNOWN && mapped.staged)
        seen.state = state_of(watch, mapped.staged->stage);
    berth_witness_update(watch->witness, rank, &seen, berth_clock());
}

/* May a later inspection of the rank show more? The host's MPI may be joined by another
 * one in the same process, but not the host's libraries under the image's own MPI. */
static bool is_open(const struct berth_witness *witness, const struct berth_rank *rank)
{
    return rank->state == BERTH_RANK_UNKNOWN ||
           (rank->state == BERTH_RANK_RIGHT && witness->binding.host);
}

/* Does the rank run with the host's MPI, as far as anybody can see? */
static bool is_settled(const struct berth_rank *rank)
{
    bool is_certain = rank->state == BERTH_RANK_RIGHT && rank->has_initialized;
    bool is_suspect = rank->suspicion != BERTH_RANK_UNKNOWN;

    return is_certain && !is_suspect && !rank->has_ended;
}

bool berth_witness_is_due(const struct berth_witness *witness,
                          const struct berth_rank *rank, long long now)
{
    if (!is_open(witness, rank))
        return false;
    return !is_settled(rank) || now >= rank->inspected + SELDOM;
}

/* Sends signal NUMBER to the process of the rank, and to no other that has its number
 * later. Returns as kill(2). */
static int signal_rank(const struct berth_rank *rank, int number)
{
    if (rank->process >= 0)
        return berth_process_signal(rank->process, number);
    return kill(rank->pid, number);
}

static bool is_gone(const struct berth_rank *rank)
{
    return signal_rank(rank, 0) < 0 && errno == ESRCH;
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
        if (watch->is_over || is_gone(rank))
            rank->has_ended = true;
        if (!berth_witness_is_due(watch->witness, rank, berth_clock()))
            continue;
        inspect_rank(watch, rank);
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

    if (!berth_witness_judge(watch->witness, watch->ranks, &sentence, &end))
        return;
    if (end) {
        print_line(watch->witness, "", sentence.text);
        end_tasks(watch);
    } else if (!watch->has_reported) {
        print_line(watch->witness, "warning: ", sentence.text);
    }
    watch->has_reported = true;
}

/* Reports once that several ranks start an mpirun. */
static void report_starters(struct watch *watch)
{
    bool is_last = watch->is_over || watch->witness->tasks == 1;
    struct berth_err sentence;

    if (watch->has_starters ||
        !berth_witness_judge_starters(watch->witness, watch->ranks, is_last, &sentence))
        return;
    print_line(watch->witness, "warning: ", sentence.text);
    watch->has_starters = true;
}

/* Is each rank known, or has it ended? */
static bool is_done(const struct watch *watch)
{
    for (unsigned int i = 0; i < watch->witness->tasks; i++) {
        const struct berth_rank *rank = &watch->ranks[i];
        bool has_joined = rank->pid != 0;

        if (!has_joined || (is_open(watch->witness, rank) && !rank->has_ended))
            return false;
    }
    return true;
}

/* Will the rank soon be known, or may it call MPI_Init soon? */
static bool is_pending(const struct berth_rank *rank, long long now)
{
    bool is_suspect = rank->suspicion != BERTH_RANK_UNKNOWN && !has_waited(rank, now);
    bool is_expected = rank->idle_since > 0 && now < rank->idle_since + EXPECTED;

    return !rank->has_ended && (is_suspect || is_expected);
}

/* Milliseconds until the next inspection. */
static int next_pause(const struct watch *watch)
{
    int pause = berth_clock_pause(watch->since);

    if (pause <= PATIENCE)
        return pause;
    for (unsigned int i = 0; i < watch->witness->tasks; i++)
        if (is_pending(&watch->ranks[i], berth_clock()))
            return PATIENCE;
    return pause;
}

/* Entering a user namespace clears the death signal (prctl(2)), so it is set again.
 * False: the container has ended, or has no marks. */
static bool enter_namespaces(struct watch *watch)
{
    watch->mounts = berth_holder_open(watch->witness->holder);
    if (watch->mounts >= 0)
        watch->marks = berth_loadmarks_open(watch->witness->holder.pid);
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

/* How many ranks use, or may use, another MPI. */
static unsigned int count_reported(const struct watch *watch)
{
    unsigned int found = 0;

    for (unsigned int i = 0; i < watch->witness->tasks; i++)
        if (watch->ranks[i].state >= BERTH_RANK_WRONG)
            found++;
    return found;
}

static void write_record(struct watch *watch)
{
    const struct berth_witness *witness = watch->witness;
    struct berth_record_witnessed witnessed = {
        .host = witness->binding.host,
        .ranks = witness->tasks,
        .loaded = count(witness, watch->ranks, BERTH_RANK_RIGHT),
        .other = count_reported(watch)};

    if (watch->record_fd < 0)
        return;
    /* Beside the host's MPI its marks are counted, and not libraries. */
    if (!witness->binding.host)
        witnessed.fabric = witness->binding.fabric;
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
        report_starters(watch);
    }
}

/* Has no task failed? The supervisor sends a byte that says so at the end of the step.
 * If it was killed with the step, nothing is known, and its own errors say enough. */
static bool has_succeeded(int supervisor)
{
    char byte;

    return read(supervisor, &byte, 1) == 1 && byte == BERTH_CHANNEL_SUCCEEDED;
}

bool berth_witness_misses_mpi(const struct berth_witness *witness,
                              const struct berth_rank *ranks, int supervisor)
{
    const struct berth_order_step *step = &witness->order->step;
    bool is_asked_for = witness->must && witness->binding.host;
    bool is_speaker = step->prints_component && step->tasks > 1;

    if (!is_asked_for || !is_speaker)
        return false;
    if (count(witness, ranks, BERTH_RANK_RIGHT) > 0)
        return false;
    return has_succeeded(supervisor);
}

/* Prints how many ranks use what is the host's, if nothing else was said of them. */
static void report_count(const struct watch *watch)
{
    const struct berth_witness *witness = watch->witness;
    bool may_note = witness->verbose && !witness->order->step.is_one_file;
    struct berth_err sentence;

    if (watch->has_reported || watch->has_starters)
        return;
    berth_witness_count(witness, watch->ranks, &sentence);
    if (berth_witness_misses_mpi(witness, watch->ranks, STDIN_FILENO))
        print_line(witness, "warning: ", sentence.text);
    else if (may_note)
        print_line(witness, "note: ", sentence.text);
}

/* Beside the host's MPI, which makes the mark, other libraries prove nothing of it. */
static void add_stages(struct watch *watch)
{
    const struct berth_strvec *stages = &watch->witness->stages;

    for (size_t i = 0; i < stages->count; i += 2) {
        const char *library = stages->items[i + 1];
        bool makes_mark = strcmp(library, BERTH_MARK_LIBRARY) == 0;
        enum berth_mapped kind = BERTH_MAPPED_STAGED;

        if (watch->witness->binding.host && !makes_mark)
            kind = BERTH_MAPPED_BESIDE;
        berth_mapped_add_stage(&watch->files, stages->items[i], library, kind);
    }
}

static void free_ranks(struct watch *watch)
{
    for (unsigned int i = 0; i < watch->witness->tasks; i++) {
        struct berth_rank *rank = &watch->ranks[i];

        if (rank->pid && rank->process >= 0)
            close(rank->process);
        free(rank->path);
        free(rank->name);
        free(rank->starter);
    }
    free(watch->ranks);
}

void berth_witness_run(const struct berth_witness *witness)
{
    struct watch watch = {
        .witness = witness, .marks = -1, .mounts = -1, .record_fd = -1};
    bool is_there;

    watch.ranks = calloc(witness->tasks, sizeof(*watch.ranks));
    if (!watch.ranks)
        return;
    add_stages(&watch);
    open_record(&watch);

    is_there = enter_namespaces(&watch);
    if (is_there)
        watch_ranks(&watch);
    write_record(&watch); /* of a container that has ended, too */
    if (is_there)
        report_count(&watch);

    free_ranks(&watch);
    berth_mapped_fini(&watch.files);
}

void berth_witness_fini(struct berth_witness *witness)
{
    berth_binding_fini(&witness->binding);
    berth_strvec_fini(&witness->stages);
    *witness = (struct berth_witness){0};
}
