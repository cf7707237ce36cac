/* SPDX-License-Identifier: Apache-2.0 */
/* Proof, while a step runs, that its ranks use what the host has for them. */

#include "witness/witness.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/text.h"
#include "runtime/kill.h"
#include "task/record.h"
#include "witness/mapped.h"
#include "request/ranks.h"
#include "step/mark.h"
#include "step/marks.h"
#include "step/namespaces.h"
#include "step/processes.h"
#include "step/report.h"

/* Milliseconds for which a rank may have another MPI before the host's comes, since a
 * program may load both. */
enum { PATIENCE = 20 };

/* Milliseconds in which Slurm hands on a line. */
enum { FORWARDED = 100 };

struct watch {
    const struct berth_witness *told;
    struct berth_rank *ranks;
    struct berth_mapped_files files;
    int marks;       /* -1: there are none */
    int space;       /* the mount namespace of the tasks; -1: each has its own */
    int64_t since;   /* the last task was seen first */
    bool has_spoken; /* of a wrong rank */
    bool is_over;    /* the tasks have ended, or are made to */
    struct berth_record record;
    int kept; /* where the record goes; -1: it is not kept */
};

static unsigned int count(const struct berth_witness *witness,
                          const struct berth_rank *ranks, enum berth_rank_state state)
{
    unsigned int found = 0;

    for (unsigned int i = 0; i < witness->tasks; i++)
        found += ranks[i].state == state;
    return found;
}

static unsigned int count_network(const struct berth_witness *witness,
                                  const struct berth_rank *ranks,
                                  enum berth_network network)
{
    unsigned int found = 0;

    for (unsigned int i = 0; i < witness->tasks; i++)
        found += ranks[i].network == network;
    return found;
}

/* The devices that ranks open, for people; "": no memory. */
static void name_devices(const struct berth_witness *witness, struct berth_buf *ret)
{
    berth_strvec_join(&witness->opens, ", ", ret);
    berth_buf_puts(ret, "");
}

static bool judge_network(const struct berth_witness *witness,
                          const struct berth_rank *ranks, struct berth_err *ret,
                          bool *ret_end)
{
    BERTH_BUF struct berth_buf devices = {0};
    const struct berth_rank *rank = ranks;

    while (rank < ranks + witness->tasks && rank->network != BERTH_NETWORK_TCP)
        rank++;
    if (rank == ranks + witness->tasks)
        return false;
    name_devices(witness, &devices);
    *ret_end = berth_request_requires_fabric(&witness->order->request);
    berth_err_set(ret,
                  "rank %u uses TCP between nodes, and none of the devices that the "
                  "site's profile names (%s); UCX_LOG_LEVEL=info or FI_LOG_LEVEL=info "
                  "tells why",
                  rank->number, devices.failed ? "" : devices.text);
    return true;
}

static bool judge_mpi(const struct berth_witness *witness,
                      const struct berth_rank *ranks, struct berth_err *ret,
                      bool *ret_end)
{
    bool is_mixed = count(witness, ranks, BERTH_RANK_RIGHT) > 0;
    const struct berth_rank *wrong = ranks;

    while (wrong < ranks + witness->tasks && wrong->state != BERTH_RANK_WRONG &&
           wrong->state != BERTH_RANK_ALONE)
        wrong++;
    if (wrong == ranks + witness->tasks)
        return false;
    *ret_end = witness->must || is_mixed;
    if (wrong->state == BERTH_RANK_ALONE)
        berth_err_set(ret, "rank %u runs alone: %s", wrong->number, witness->because);
    else
        berth_err_set(
            ret,
            "rank %u runs with '%s' (%s) and not with the host's %s%s; have it "
            "load the image's MPI, over which the host's is mounted, or choose "
            "--mpi-bind=hybrid",
            wrong->number, wrong->path, wrong->name, witness->host,
            is_mixed ? ", as other ranks on this node do" : "");
    return true;
}

bool berth_witness_judge(const struct berth_witness *witness,
                         const struct berth_rank *ranks, struct berth_err *ret,
                         bool *ret_end)
{
    return judge_mpi(witness, ranks, ret, ret_end) ||
           judge_network(witness, ranks, ret, ret_end);
}

bool berth_witness_misses(const struct berth_witness *witness,
                          const struct berth_rank *ranks, struct berth_err *ret)
{
    bool has_mpi = false;

    for (unsigned int i = 0; i < witness->tasks; i++)
        has_mpi |= ranks[i].has_mpi;
    if (!witness->is_under_mpi || !witness->has_others || !has_mpi ||
        count(witness, ranks, BERTH_RANK_RIGHT) > 0)
        return false;
    berth_err_set(ret,
                  "no rank of this node was seen to load the host's %s, so their MPI "
                  "may use another network; OMPI_MCA_pml_base_verbose=10 or "
                  "UCX_LOG_LEVEL=info tells which",
                  witness->fabric);
    return true;
}

static void count_loaded(const struct berth_witness *witness,
                         const struct berth_rank *ranks, struct berth_err *ret)
{
    unsigned int right = count(witness, ranks, BERTH_RANK_RIGHT);
    const char *what = witness->host ? witness->host : witness->fabric;

    if (right == 0 && witness->host)
        berth_err_set(ret, "none of %u ranks was seen to load an MPI library",
                      witness->tasks);
    else
        berth_err_set(ret, "%u of %u ranks loaded the host's %s%s", right,
                      witness->tasks, what,
                      right < witness->tasks && witness->host
                          ? ", and no MPI was seen in the others"
                          : "");
}

void berth_witness_count(const struct berth_witness *witness,
                         const struct berth_rank *ranks, struct berth_err *ret)
{
    BERTH_BUF struct berth_buf devices = {0};
    struct berth_err loaded;

    count_loaded(witness, ranks, &loaded);
    *ret = loaded;
    if (witness->opens.count == 0)
        return;
    name_devices(witness, &devices);
    berth_err_set(ret, "%s; with a device open (%s): %u, with TCP between nodes: %u",
                  loaded.text, devices.failed ? "" : devices.text,
                  count_network(witness, ranks, BERTH_NETWORK_DEVICE),
                  count_network(witness, ranks, BERTH_NETWORK_TCP));
}

/* KIND: "note: ", "warning: ", or "" for an error. */
static void say(const struct berth_witness *told, const char *kind,
                const char *sentence)
{
    berth_report_line(STDERR_FILENO, told->node, "%simage '%s': --mpi-bind=%s: %s",
                      kind, berth_request_name(&told->order->request),
                      told->order->request.mpi, sentence);
}

/* In the place that it has, or in the first that is free: tasks of other containers
 * have numbers on this node, too. */
static void see(void *data, unsigned int local, pid_t pid, unsigned int number)
{
    struct watch *watch = data;
    struct berth_rank *rank = watch->ranks;
    struct berth_rank *end = rank + watch->told->tasks;

    while (rank < end && rank->pid && rank->local != local)
        rank++;
    if (rank == end || rank->pid)
        return;
    rank->pid = pid;
    rank->local = local;
    rank->number = number;
    watch->since = berth_clock();
}

/* Tasks that share nothing are known as children of slurmstepd. */
static void find_children(struct watch *watch)
{
    const char *locals = watch->told->order->container.locals;
    BERTH_FREE pid_t *children = NULL;
    size_t found = berth_process_children(watch->told->parent, &children);

    for (size_t i = 0; i < found; i++) {
        unsigned int local, number;

        if (berth_process_variable(children[i], BERTH_MARK_VARIABLE, &local) &&
            berth_process_variable(children[i], "SLURM_PROCID", &number) &&
            (!locals || berth_ranks_has(locals, local, NULL)))
            see(watch, local, children[i], number);
    }
}

static void find_tasks(struct watch *watch)
{
    if (watch->marks >= 0)
        berth_marks_each(watch->marks, see, watch);
    else
        find_children(watch);
}

/* FILE: it has another MPI than the host's, unless FILE has no path. */
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

/* The rank is not right, as far as was SEEN. FILE as for suspect(). */
static void doubt(struct berth_rank *rank, enum berth_rank_state seen,
                  const struct berth_mapped_file *file)
{
    if (seen == BERTH_RANK_WRONG || seen == BERTH_RANK_ALONE)
        suspect(rank, file);
    if (rank->suspected &&
        (rank->has_ended || (seen != BERTH_RANK_UNKNOWN && has_waited(rank))))
        rank->state = rank->path ? BERTH_RANK_WRONG : BERTH_RANK_ALONE;
}

static enum berth_rank_state state_of(const struct watch *watch, const char *stage)
{
    return watch->told->alone && strcmp(stage, watch->told->alone) == 0
               ? BERTH_RANK_ALONE
               : BERTH_RANK_RIGHT;
}

/* By its marks. */
static enum berth_rank_state read_marks(const struct watch *watch,
                                        const struct berth_rank *rank)
{
    const struct berth_strvec *stages = &watch->told->stages;
    enum berth_rank_state state = BERTH_RANK_UNKNOWN;

    for (size_t i = 0; watch->marks >= 0 && i < stages->count; i += 2) {
        const char *stage = berth_text_base(stages->items[i]);

        if (state != BERTH_RANK_RIGHT &&
            berth_marks_has(watch->marks, rank->local, rank->pid, stage))
            state = state_of(watch, stage);
    }
    return state;
}

/* By what its processes have mapped, *RET_FILE. */
static enum berth_rank_state read_maps(struct watch *watch, pid_t pid,
                                       const struct berth_mapped_file **ret_file)
{
    switch (berth_mapped_look(&watch->files, pid, ret_file)) {
    case BERTH_MAPPED_STAGED:
        return state_of(watch, (*ret_file)->stage);
    case BERTH_MAPPED_OTHER:
        return BERTH_RANK_WRONG;
    default:
        return BERTH_RANK_UNKNOWN;
    }
}

static void look_at(struct watch *watch, struct berth_rank *rank)
{
    const struct berth_mapped_file *file = NULL;
    enum berth_rank_state seen = read_marks(watch, rank);

    if (seen == BERTH_RANK_UNKNOWN && rank->state == BERTH_RANK_UNKNOWN &&
        !rank->has_ended)
        seen = read_maps(watch, rank->pid, &file);
    rank->has_mpi |= seen != BERTH_RANK_UNKNOWN;
    if (seen == BERTH_RANK_RIGHT)
        rank->state = BERTH_RANK_RIGHT;
    else if (watch->told->host) /* else it is the image's own, as it is to be */
        doubt(rank, seen, file);
}

static bool is_network_open(const struct watch *watch, const struct berth_rank *rank)
{
    return rank->has_mpi && watch->told->opens.count > 0 &&
           rank->network == BERTH_NETWORK_UNKNOWN;
}

/* May more be seen of the rank than what is known? */
static bool is_open(const struct watch *watch, const struct berth_rank *rank)
{
    if (rank->has_ended)
        return false;
    return rank->state == BERTH_RANK_UNKNOWN || is_network_open(watch, rank);
}

/* Marks are read after the look whether the rank has ended: then none is missed. */
static void look(struct watch *watch)
{
    find_tasks(watch);
    for (unsigned int i = 0; i < watch->told->tasks; i++) {
        struct berth_rank *rank = &watch->ranks[i];

        if (!rank->pid)
            continue;
        rank->has_ended |= watch->is_over || (kill(rank->pid, 0) < 0 && errno == ESRCH);
        if (rank->state != BERTH_RANK_RIGHT)
            look_at(watch, rank);
        if (is_network_open(watch, rank) && !rank->has_ended)
            rank->network = berth_network_look(rank->pid, &watch->told->opens);
    }
}

static void signal_ranks(const struct watch *watch, int number)
{
    for (unsigned int i = 0; i < watch->told->tasks; i++)
        if (watch->ranks[i].pid && !watch->ranks[i].has_ended)
            kill(watch->ranks[i].pid, number);
}

/* SIGKILL, because a program that survives a signal could end with status 0. When a
 * task has been killed, srun may end the step and print no more of it (seen with
 * Slurm 22.05): what was said gets some time, in which no task ends. Not
 * where each task has a container of its own, whose processes differ. */
static void end_tasks(struct watch *watch)
{
    watch->is_over = true;
    if (watch->space >= 0) {
        signal_ranks(watch, SIGSTOP);
        poll(NULL, 0, FORWARDED);
        berth_kill_namespace(watch->space, watch->told->holder);
    }
    signal_ranks(watch, SIGKILL);
}

/* Say what there is to say, once; and once more, where it becomes an error. */
static void speak(struct watch *watch)
{
    struct berth_err sentence;
    bool end;

    if (!berth_witness_judge(watch->told, watch->ranks, &sentence, &end) ||
        (watch->has_spoken && !end))
        return;
    say(watch->told, end ? "" : "warning: ", sentence.text);
    watch->has_spoken = true;
    if (end)
        end_tasks(watch);
}

/* Is there nothing more to come? */
static bool is_done(const struct watch *watch)
{
    for (unsigned int i = 0; i < watch->told->tasks; i++)
        if (!watch->ranks[i].pid || is_open(watch, &watch->ranks[i]))
            return false;
    return true;
}

/* Milliseconds until the next look. */
static int pause_of(const struct watch *watch)
{
    for (unsigned int i = 0; i < watch->told->tasks; i++)
        if (watch->ranks[i].suspected && !has_waited(&watch->ranks[i]))
            return PATIENCE;
    return berth_clock_pause(watch->since);
}

/* The death signal goes with the credentials. */
static void enter_space(struct watch *watch)
{
    watch->space = berth_namespaces_open(watch->told->holder, "mnt");
    watch->marks = berth_marks_open(watch->told->holder);
    if (berth_namespaces_enter_user(watch->told->holder) == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Before the user namespace is entered, in which root's files seem to be nobody's. */
static void open_record(struct watch *watch)
{
    const struct berth_witness *told = watch->told;
    const struct passwd *user;
    struct berth_err err;

    if (!told->order->record)
        return;
    user = getpwuid(getuid());
    watch->record = (struct berth_record){.environment = told->environment,
                                          .node = told->node,
                                          .user = user ? user->pw_name : NULL,
                                          .step = berth_order_recorded(told->order),
                                          .request = &told->order->request};
    watch->kept = berth_record_open(&watch->record, told->order->record, &err);
    if (watch->kept < 0 && told->verbose)
        berth_report_line(STDERR_FILENO, told->node, "warning: no record is kept: %s",
                          err.text);
}

static void keep_record(struct watch *watch)
{
    const struct berth_witness *told = watch->told;
    const struct berth_record_witnessed witnessed = {
        .host = told->host,
        .ranks = told->tasks,
        .loaded = count(told, watch->ranks, BERTH_RANK_RIGHT),
        .other = count(told, watch->ranks, BERTH_RANK_WRONG) +
                 count(told, watch->ranks, BERTH_RANK_ALONE),
        .fabric = told->fabric,
        .has_network = told->opens.count > 0,
        .device = count_network(told, watch->ranks, BERTH_NETWORK_DEVICE),
        .tcp = count_network(told, watch->ranks, BERTH_NETWORK_TCP)};

    if (watch->kept < 0)
        return;
    watch->record.time = time(NULL);
    watch->record.witnessed = &witnessed;
    berth_record_put(&watch->record, told->order->record, watch->kept, NULL);
    close(watch->kept);
}

static void watch_ranks(struct watch *watch)
{
    struct pollfd supervisor = {.fd = STDIN_FILENO, .events = POLLIN};

    watch->since = berth_clock();
    while (!watch->is_over && !is_done(watch)) {
        if (poll(&supervisor, 1, pause_of(watch)) > 0)
            watch->is_over = true;
        look(watch);
        speak(watch);
    }
}

void berth_witness_run(const struct berth_witness *witness)
{
    struct watch watch = {.told = witness, .marks = -1, .space = -1, .kept = -1};
    struct berth_err sentence;

    watch.ranks = calloc(witness->tasks, sizeof(*watch.ranks));
    if (!watch.ranks)
        return;
    for (size_t i = 0; i < witness->stages.count; i += 2)
        berth_mapped_add_stage(&watch.files, witness->stages.items[i],
                               witness->stages.items[i + 1]);
    open_record(&watch);
    if (witness->holder)
        enter_space(&watch);
    watch_ranks(&watch);
    keep_record(&watch);
    if (!watch.has_spoken && witness->order->step.leads &&
        berth_witness_misses(witness, watch.ranks, &sentence))
        say(witness, "warning: ", sentence.text);
    berth_witness_count(witness, watch.ranks, &sentence);
    if (witness->verbose && !watch.has_spoken)
        say(witness, "note: ", sentence.text);
    for (unsigned int i = 0; i < witness->tasks; i++) {
        free(watch.ranks[i].path);
        free(watch.ranks[i].name);
    }
    free(watch.ranks);
    berth_mapped_fini(&watch.files);
}

void berth_witness_fini(struct berth_witness *witness)
{
    free(witness->host);
    free(witness->fabric);
    berth_strvec_fini(&witness->opens);
    free(witness->alone);
    free(witness->because);
    berth_strvec_fini(&witness->stages);
    *witness = (struct berth_witness){0};
}
