/* SPDX-License-Identifier: Apache-2.0 */
/* Finds containers among the processes of a user. Each container has a holder,
 * berth-init (container/program.h). The environment of the supervisor, or else of the
 * holder, has the step. */

#include "cli/container.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/environ.h"
#include "base/grow.h"
#include "base/text.h"
#include "job/protocol.h"
#include "container/servers.h"
#include "plan/order.h"
#include "container/processes.h"
#include "container/program.h"
#include "container/runtime.h"

/* A process of the user. */
struct process {
    struct berth_process facts;
    ino_t mount_ns; /* inode of its mount namespace */
    bool is_holder; /* it is berth-init */
};

struct scan {
    const struct berth_find *wanted;
    struct process *items;
    size_t count, room;
    bool failed;
    struct berth_containers *found;
};

static bool is_init(pid_t pid)
{
    char path[64], program[512];
    ssize_t length;

    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    length = readlink(path, program, sizeof(program) - 1);
    if (length < 0)
        return false;
    program[length] = '\0';
    return berth_program_is_init(berth_text_base(program));
}

/* Add PROCESS if it is of the wanted user. One that is or was privileged belongs to
 * root in /proc, and is left out. */
static bool add(const struct berth_process *process, void *data)
{
    struct scan *scan = data;
    struct process item = {.facts = *process};
    struct stat status;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d", process->pid);
    if (stat(path, &status) < 0 || status.st_uid != scan->wanted->user)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", process->pid);
    if (stat(path, &status) < 0)
        return false;
    item.mount_ns = status.st_ino;
    item.is_holder = is_init(process->pid);
    if (berth_append(scan, &item) < 0)
        scan->failed = true;
    return !scan->failed;
}

static const struct process *find(const struct scan *scan, pid_t pid)
{
    for (size_t i = 0; i < scan->count; i++)
        if (scan->items[i].facts.pid == pid)
            return &scan->items[i];
    return NULL;
}

/* Append the environment with which process PID was started to RET. */
static void read_environment(pid_t pid, struct berth_strvec *ret)
{
    enum { MOST = 4 << 20 };
    BERTH_BUF struct berth_buf bytes = {0};
    bool is_whole;

    if (berth_process_environment(pid, MOST, &bytes) < 0)
        return;
    /* a process may overwrite its environment, and so its last NUL */
    is_whole = bytes.used > 0 && bytes.text[bytes.used - 1] == '\0';
    if (is_whole)
        berth_environ_split(bytes.text, bytes.used, ret);
}

/* The number in the variable NAME of ENVIRONMENT; -1: it has none. */
static int number_of(const struct berth_strvec *environment, const char *name)
{
    const char *text = berth_environ_value(environment->items, name);

    if (!text || *text < '0' || *text > '9')
        return -1;
    return (int)strtol(text, NULL, 10);
}

/* The supervisor, an ancestor of HOLDER; NULL: there is none. */
static const struct process *find_supervisor(const struct scan *scan,
                                             const struct process *holder)
{
    enum { ABOVE = 3 };
    const struct process *process = holder;

    for (int i = 0; process && i <= ABOVE; i++) {
        if (strcmp(process->facts.name, "berth-start") == 0)
            return process;
        process = find(scan, process->facts.parent);
    }
    return NULL;
}

/* Read the environment of the supervisor, or without one that of HOLDER. For a
 * container of a job the supervisor is the job's server, with the environment of the
 * job; HOLDER has that of the first step. */
static void read_step_environment(const struct scan *scan, const struct process *holder,
                                  struct berth_strvec *ret)
{
    const struct process *supervisor = find_supervisor(scan, holder);

    if (supervisor)
        read_environment(supervisor->facts.pid, ret);
    if (berth_environ_value(ret->items, "SLURM_JOB_ID"))
        return;
    berth_strvec_fini(ret);
    read_environment(holder->facts.pid, ret);
}

/* Returns the image that the runtime has written into the environment of HOLDER. */
static char *image_of(const struct process *holder)
{
    BERTH_STRVEC struct berth_strvec environment = {0};

    read_environment(holder->facts.pid, &environment);
    return strdup(berth_text_or(berth_runtime_image(environment.items), "?"));
}

/* Returns the options with which the container of HOLDER was made: the last argument of
 * berth-init (plan/launch.h). */
static char *options_of(const struct process *holder)
{
    enum { MOST = 1 << 20, OPTIONS = 5 };
    BERTH_STRVEC struct berth_strvec argv = {0};
    BERTH_BUF struct berth_buf bytes = {0};
    const char *options = NULL;

    if (berth_process_words(holder->facts.pid, MOST, &bytes) == 0 && bytes.used > 0)
        berth_environ_split(bytes.text, bytes.used, &argv);
    if (argv.count == OPTIONS + 1)
        options = argv.items[OPTIONS];
    return strdup(berth_text_or(options, ""));
}

/* A supervisor still has the order of its task in the environment with which it was
 * started. Without a supervisor, which may have been killed, the image is the one that
 * the runtime has named. */
static void describe(const struct process *holder,
                     const struct berth_strvec *environment,
                     struct berth_container *ret)
{
    BERTH_ORDER struct berth_order order = BERTH_ORDER_EMPTY;
    const char *text = berth_environ_value(environment->items, BERTH_TASK_ORDER);
    int job = number_of(environment, "SLURM_JOB_ID");

    if (text)
        berth_order_get(text, &order, NULL);
    if (order.request.image)
        ret->image = strdup(berth_request_name(&order.request));
    else
        ret->image = image_of(holder);
    ret->options = options_of(holder);

    if (job > 0)
        ret->job = (unsigned int)job;
    ret->step = number_of(environment, "SLURM_STEP_ID");
    if (order.step.is_several)
        ret->component = order.step.component;
}

/* Is PROCESS the first process of a task in the container of HOLDER? So is one whose
 * parent has ended. */
static bool is_task(const struct scan *scan, const struct process *process,
                    const struct process *holder)
{
    const struct process *above = find(scan, process->facts.parent);

    if (process->mount_ns != holder->mount_ns || process->is_holder)
        return false;
    if (!above || above->is_holder)
        return true;
    return above->mount_ns != holder->mount_ns;
}

/* A process of a task, from its environment. */
struct task {
    const struct process *process;
    int rank;  /* in the step; -1: not known */
    int local; /* number of the task on its node; -1: not known */
};

static struct task read_task(const struct process *process)
{
    BERTH_STRVEC struct berth_strvec environment = {0};
    struct task task = {.process = process, .rank = -1};

    read_environment(process->facts.pid, &environment);
    task.local = number_of(&environment, "SLURM_LOCALID");
    if (task.local >= 0)
        task.rank = number_of(&environment, "SLURM_PROCID");
    return task;
}

/* Should TASK represent the container, instead of CHOSEN (without a process: none)? A
 * process that entered the container by berth enter has the environment of a task, but
 * began later. */
static bool is_better(const struct scan *scan, const struct task *task,
                      const struct task *chosen)
{
    if (scan->wanted->rank >= 0 && task->rank != scan->wanted->rank)
        return false;
    if (!chosen->process)
        return true;
    if (task->rank == chosen->rank)
        return task->process->facts.began < chosen->process->facts.began;
    if (task->rank < 0)
        return false;
    return chosen->rank < 0 || task->rank < chosen->rank;
}

/* Count the tasks in the container of HOLDER, and choose the one that represents it. */
static void count_tasks(const struct scan *scan, const struct process *holder,
                        struct berth_container *ret)
{
    enum { LOCALS = 8192 }; /* tasks of a node */
    bool seen[LOCALS] = {false};
    struct task chosen = {.rank = -1};

    for (size_t i = 0; i < scan->count; i++) {
        struct task task;
        bool is_known;

        if (!is_task(scan, &scan->items[i], holder))
            continue;
        task = read_task(&scan->items[i]);

        /* A task may have several such processes. */
        is_known = task.rank >= 0 && seen[task.local % LOCALS];
        if (!is_known)
            ret->tasks++;
        if (task.rank >= 0)
            seen[task.local % LOCALS] = true;

        if (is_better(scan, &task, &chosen))
            chosen = task;
    }
    if (chosen.process) {
        ret->task = chosen.process->facts.pid;
        ret->rank = chosen.rank;
    }
}

/* Returns when PROCESS began, in seconds since the Epoch. Computed once, on the node:
 * from a rounded age, each reader would compute another second. */
static unsigned int start_of(const struct process *process)
{
    double since_boot = (double)process->facts.began / (double)sysconf(_SC_CLK_TCK);
    struct timespec now, up;
    double boot;

    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &up);
    boot = (double)(now.tv_sec - up.tv_sec) + (double)(now.tv_nsec - up.tv_nsec) / 1e9;
    return (unsigned int)(boot + since_boot);
}

static char *node_name(const struct berth_strvec *environment)
{
    const char *name = berth_environ_value(environment->items, BERTH_TASK_NODE);
    char host[256] = "localhost";

    gethostname(host, sizeof(host) - 1);
    return strdup(berth_text_or(name, host));
}

/* Is ENVIRONMENT that of a container that the job keeps? */
static bool is_of_job(const struct berth_strvec *environment)
{
    const char *step = berth_environ_value(environment->items, "SLURM_STEP_ID");

    return step && strcmp(step, BERTH_JOB_STEP) == 0;
}

static bool is_wanted(const struct berth_find *wanted, unsigned int job)
{
    return wanted->job == 0 || job == wanted->job || job == wanted->number;
}

/* Add ITEM if it is of the wanted job. ITEM stays the caller's unless it is added. */
static int add_wanted(const struct scan *scan, struct berth_container *item,
                      struct berth_err *err)
{
    if (!item->node || !item->image || !item->options)
        return berth_err_oom(err);
    if (!is_wanted(scan->wanted, item->job))
        return 0;
    if (berth_append(scan->found, item) < 0)
        return berth_err_oom(err);
    return 0;
}

/* Set what the programs that serve the image of HOLDER use. */
static void measure_servers(const struct process *holder, struct berth_container *ret)
{
    struct berth_servers_usage usage;

    berth_servers_usage(holder->facts.pid, &usage);
    if (usage.count == 0)
        return;
    ret->memory = (int)usage.kib;
    ret->cpu = (int)usage.ms;
}

/* Does a container without the wanted task end soon? The job keeps others, for any
 * task. */
static bool is_ending(const struct scan *scan, const struct berth_strvec *environment)
{
    return !is_of_job(environment) || scan->wanted->rank >= 0;
}

/* Add the container of HOLDER, except one without tasks that the job does not keep:
 * that one is about to end. */
static int add_container(struct scan *scan, const struct process *holder,
                         struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec environment = {0};
    struct berth_container item = {.holder = holder->facts.pid,
                                   .mounts = (unsigned int)holder->mount_ns,
                                   .component = -1,
                                   .rank = -1,
                                   .offset = -1,
                                   .memory = -1,
                                   .cpu = -1};
    int result;

    count_tasks(scan, holder, &item);
    read_step_environment(scan, holder, &environment);
    if (environment.failed)
        return berth_err_oom(err);
    if (!item.task && is_ending(scan, &environment))
        return 0;

    describe(holder, &environment, &item);
    item.node = node_name(&environment);
    item.since = start_of(holder);
    measure_servers(holder, &item);
    result = add_wanted(scan, &item, err);
    berth_container_fini(&item);
    return result;
}

int berth_find_containers(const struct berth_find *wanted, struct berth_containers *ret,
                          struct berth_err *err)
{
    struct scan scan = {.wanted = wanted, .found = ret};
    int result = 0;

    berth_processes_each(add, &scan);
    if (scan.failed)
        result = berth_err_oom(err);
    for (size_t i = 0; i < scan.count && result == 0; i++) {
        const struct process *process = &scan.items[i];

        if (process->is_holder)
            result = add_container(&scan, process, err);
    }
    free(scan.items);
    return result;
}
