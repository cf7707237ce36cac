/* SPDX-License-Identifier: Apache-2.0 */
/* Finds containers among the processes of a user: berth-init (step/program.h) is in
 * each of them, and its environment, or that of the supervisor, tells the step. */

#include "running/find.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/grow.h"
#include "base/text.h"
#include "job/message.h"
#include "runtime/servers.h"
#include "plan/order.h"
#include "step/processes.h"

/* A process of the user. */
struct process {
    struct berth_process is;
    ino_t space; /* its mount namespace */
    bool holds;  /* it is berth-init */
};

struct look {
    const struct berth_find *wanted;
    struct process *items;
    size_t count, room;
    bool failed;
    struct berth_containers *found;
};

static bool is_program(pid_t pid, const char *name)
{
    char path[64], program[512];
    ssize_t length;

    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    length = readlink(path, program, sizeof(program) - 1);
    program[length < 0 ? 0 : length] = '\0';
    /* One that was replaced while it runs: "berth-init (deleted)". */
    return berth_text_starts(berth_text_base(program), name);
}

/* A process that was privileged, or still is, belongs to root in /proc. */
static bool add(const struct berth_process *process, void *data)
{
    struct look *look = data;
    struct process *item;
    struct stat status;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d", process->pid);
    if (stat(path, &status) < 0 || status.st_uid != look->wanted->user)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", process->pid);
    if (stat(path, &status) < 0)
        return false;
    if (berth_grow(&look->items, look->count, &look->room, sizeof(*item)) < 0) {
        look->failed = true;
        return false;
    }
    item = &look->items[look->count++];
    *item = (struct process){.is = *process,
                             .space = status.st_ino,
                             .holds = is_program(process->pid, "berth-init")};
    return true;
}

static const struct process *find(const struct look *look, pid_t pid)
{
    for (size_t i = 0; i < look->count; i++)
        if (look->items[i].is.pid == pid)
            return &look->items[i];
    return NULL;
}

static void read_environment(pid_t pid, struct berth_strvec *ret)
{
    enum { MOST = 4 << 20 };
    BERTH_BUF struct berth_buf bytes = {0};

    if (berth_process_environment(pid, MOST, &bytes) == 0 && bytes.used > 0 &&
        bytes.text[bytes.used - 1] == '\0')
        berth_environ_split(bytes.text, bytes.used, ret);
}

static int number_of(const struct berth_strvec *environment, const char *name)
{
    const char *text = berth_environ_value(environment->items, name);

    return text && *text >= '0' && *text <= '9' ? (int)strtol(text, NULL, 10) : -1;
}

/* Read the environment of the supervisor, which is an ancestor of HOLDER; without one,
 * that of HOLDER. In a container of a job, the runtime has the environment of the first
 * step, the job's server that of the job. */
static void identify(const struct look *look, const struct process *holder,
                     struct berth_strvec *ret)
{
    enum { ABOVE = 3 };
    const struct process *above = holder;

    for (int i = 0; above && i < ABOVE && strcmp(above->is.name, "berth-start") != 0;
         i++)
        above = find(look, above->is.parent);
    if (above && strcmp(above->is.name, "berth-start") == 0)
        read_environment(above->is.pid, ret);
    if (!berth_environ_value(ret->items, "SLURM_JOB_ID")) {
        berth_strvec_fini(ret);
        read_environment(holder->is.pid, ret);
    }
}

/* The order of the task with the environment WANTED: its supervisor or watcher still
 * has it in the memory with which it was started. */
static void read_order(const struct look *look, const struct berth_strvec *wanted,
                       struct berth_order *ret)
{
    static const char *const same[] = {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID"};

    for (size_t i = 0; i < look->count; i++) {
        BERTH_STRVEC struct berth_strvec environment = {0};
        const char *order;
        size_t at = 0;

        if (strcmp(look->items[i].is.name, "berth-start") != 0)
            continue;
        read_environment(look->items[i].is.pid, &environment);
        order = berth_environ_value(environment.items, BERTH_TASK_ORDER);
        while (at < sizeof(same) / sizeof(same[0]) &&
               number_of(&environment, same[at]) == number_of(wanted, same[at]))
            at++;
        if (order && at == sizeof(same) / sizeof(same[0]) &&
            berth_order_get(order, ret, NULL) == 0)
            return;
    }
}

/* What the runtime has told the container HOLDER of. */
static char *image_of(const struct process *holder)
{
    BERTH_STRVEC struct berth_strvec own = {0};
    const char *image;

    read_environment(holder->is.pid, &own);
    image = berth_environ_value(own.items, "APPTAINER_CONTAINER");
    if (!image)
        image = berth_environ_value(own.items, "SINGULARITY_CONTAINER");
    return strdup(image ? image : "?");
}

/* What a supervisor that was killed cannot tell, the runtime has told. */
static void describe(const struct look *look, const struct process *holder,
                     const struct berth_strvec *environment,
                     struct berth_container *ret)
{
    BERTH_ORDER struct berth_order order = BERTH_ORDER_EMPTY;
    int job = number_of(environment, "SLURM_JOB_ID");

    read_order(look, environment, &order);
    ret->image = order.request.image ? strdup(berth_request_name(&order.request))
                                     : image_of(holder);
    ret->job = job < 0 ? 0 : (unsigned int)job;
    ret->step = number_of(environment, "SLURM_STEP_ID");
    ret->component = order.step.is_several ? order.step.component : -1;
}

/* Is PROCESS the first one of a task in the container of HOLDER, or of what was left
 * behind by one? */
static bool is_task(const struct look *look, const struct process *process,
                    const struct process *holder)
{
    const struct process *above = find(look, process->is.parent);

    return process->space == holder->space && !process->holds &&
           (!above || above->space != holder->space || above->holds);
}

/* Should a process of RANK, which began at BEGAN, stand for the container instead of
 * CHOSEN? A process that entered the container has the environment of a task, but began
 * later. */
static bool is_better(const struct look *look, int rank, unsigned long long began,
                      const struct berth_container *chosen,
                      unsigned long long chosen_began)
{
    if (look->wanted->rank >= 0 && rank != look->wanted->rank)
        return false;
    if (!chosen->task)
        return true;
    return rank == chosen->rank
               ? began < chosen_began
               : rank >= 0 && (chosen->rank < 0 || rank < chosen->rank);
}

static void count_tasks(const struct look *look, const struct process *holder,
                        struct berth_container *ret)
{
    enum { LOCALS = 8192 }; /* tasks of a node */
    bool seen[LOCALS] = {false};
    unsigned long long began = 0;

    for (size_t i = 0; i < look->count; i++) {
        const struct process *process = &look->items[i];
        BERTH_STRVEC struct berth_strvec environment = {0};
        int rank, local;

        if (!is_task(look, process, holder))
            continue;
        read_environment(process->is.pid, &environment);
        local = number_of(&environment, "SLURM_LOCALID");
        rank = local < 0 ? -1 : number_of(&environment, "SLURM_PROCID");
        ret->tasks += rank < 0 || !seen[local % LOCALS];
        if (rank >= 0)
            seen[local % LOCALS] = true;
        if (!is_better(look, rank, process->is.began, ret, began))
            continue;
        ret->task = process->is.pid;
        ret->rank = rank;
        began = process->is.began;
    }
}

static void add_servers(const struct look *look, const struct process *holder,
                        struct berth_container *ret)
{
    const struct process *runtime = find(look, holder->is.parent);
    struct berth_servers_usage usage = {0};

    for (size_t i = 0; i < look->count; i++)
        berth_servers_add_usage(&look->items[i].is, holder->is.parent,
                                runtime ? runtime->is.parent : 0, &usage);
    ret->memory = usage.count ? (int)usage.kib : -1;
    ret->cpu = usage.count ? (int)usage.ms : -1;
}

/* Here, and not from the age where that is read: two roundings make another second of
 * it every time. */
static unsigned int start_of(const struct process *process)
{
    struct timespec now, up;
    double began = (double)process->is.began / (double)sysconf(_SC_CLK_TCK);

    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &up);
    return (unsigned int)((double)(now.tv_sec - up.tv_sec) +
                          (double)(now.tv_nsec - up.tv_nsec) / 1e9 + began);
}

static char *node_name(const struct berth_strvec *environment)
{
    const char *name = berth_environ_value(environment->items, BERTH_TASK_NODE);
    char host[256] = "localhost";

    gethostname(host, sizeof(host) - 1);
    return strdup(name ? name : host);
}

static bool is_jobs(const struct berth_strvec *environment)
{
    const char *step = berth_environ_value(environment->items, "SLURM_STEP_ID");

    return step && strcmp(step, BERTH_JOB_STEP) == 0;
}

static bool is_wanted(const struct berth_find *wanted,
                      const struct berth_container *item)
{
    return !wanted->job || item->job == wanted->job || item->job == wanted->number;
}

/* One in which nobody runs is about to end, or the job keeps it. */
static int look_at(struct look *look, const struct process *holder,
                   struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec environment = {0};
    struct berth_container item = {.holder = holder->is.pid, .rank = -1, .offset = -1};
    int result = 0;

    count_tasks(look, holder, &item);
    identify(look, holder, &environment);
    if (!item.task && (!is_jobs(&environment) || look->wanted->rank >= 0))
        return 0;
    describe(look, holder, &environment, &item);
    item.node = node_name(&environment);
    item.since = start_of(holder);
    add_servers(look, holder, &item);
    if (environment.failed || !item.node || !item.image)
        result = berth_err_oom(err);
    else if (is_wanted(look->wanted, &item) &&
             berth_containers_add(look->found, &item) < 0)
        result = berth_err_oom(err);
    berth_container_fini(&item);
    return result;
}

int berth_find_containers(const struct berth_find *wanted, struct berth_containers *ret,
                          struct berth_err *err)
{
    struct look look = {.wanted = wanted, .found = ret};
    int result = 0;

    berth_processes_each(add, &look);
    if (look.failed)
        result = berth_err_oom(err);
    for (size_t i = 0; i < look.count && result == 0; i++)
        if (look.items[i].holds)
            result = look_at(&look, &look.items[i], err);
    free(look.items);
    return result;
}
