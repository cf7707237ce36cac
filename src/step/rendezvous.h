/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"
#include "report/binding.h"
#include "request/components.h"
#include "step/outer.h"

/* Where the tasks of a step on a node meet: memory, a pair of sockets and a pipe that
 * slurmstepd makes before it forks them, and that they inherit. With --multi-prog the
 * step may have several containers on a node: the memory has a slot for each, and tasks
 * meet in the slot of theirs. There is no file,
 * directory or lock that could be left behind or belong to somebody else, and no two
 * steps can meet by mistake.
 *
 * The sockets tell the container when to end: slurmstepd has the only descriptor of its
 * own end and shuts it down after the last task, or dies. The pipe tells slurmstepd
 * when the container has ended: only tasks open its writing end, and the processes that
 * stay with a container hold it. Nothing depends on a descriptor that slurmstepd
 * closes: it may call the plugin in a child that shares its memory and not its
 * descriptors (SlurmdParameters=contain_spank). */

enum berth_rendezvous_state {
    BERTH_RENDEZVOUS_NEW,      /* nobody has started the container */
    BERTH_RENDEZVOUS_STARTING, /* somebody does */
    BERTH_RENDEZVOUS_READY,    /* tasks can join it */
    BERTH_RENDEZVOUS_SEPARATE, /* it cannot be joined: each task starts its own */
    BERTH_RENDEZVOUS_FAILED,   /* it did not start; the sentence says why */
    BERTH_RENDEZVOUS_LATE,     /* it did not start in time */
    BERTH_RENDEZVOUS_KILLED,   /* the process that started it is gone */
    BERTH_RENDEZVOUS_LOST      /* it ended before its tasks */
};

struct berth_rendezvous_page; /* the shared memory */

struct berth_rendezvous {
    struct berth_rendezvous_page *page; /* of the slot; in slurmstepd of the first */
    unsigned int slot;                  /* of the task's container */
    unsigned int slots;                 /* in slurmstepd: how many there are */
    int memory;                         /* descriptor of the shared memory */
    int tasks; /* one socket: end of file when the last task has ended */
    int alive; /* the other; slurmstepd's; -1 elsewhere */
    int ended; /* the pipe: in slurmstepd its reading end, elsewhere its writing end;
                  -1: none */
};

/* The most containers that a step may have. */
enum { BERTH_RENDEZVOUS_MAX = BERTH_CONTAINERS_MAX };

/* In slurmstepd: make a rendezvous for so many containers (1 to BERTH_RENDEZVOUS_MAX).
 * Returns 0, or -1 with a sentence in ERR, and nothing is left of it (page is NULL). */
int berth_rendezvous_make(struct berth_rendezvous *rendezvous, unsigned int containers,
                          struct berth_err *err);

/* In slurmstepd: LIMIT are the seconds that a start may take, and the containers get
 * the CPUs of the caller. FORBIDDEN: why tasks may not join one; NULL: they may. */
void berth_rendezvous_configure(struct berth_rendezvous *rendezvous, unsigned int limit,
                                const char *forbidden);

/* In slurmstepd: has a container ended before its tasks? */
bool berth_rendezvous_is_any_lost(const struct berth_rendezvous *rendezvous);

/* In a task: use the rendezvous with these descriptors `memory`, `tasks` and `ended`,
 * which close on exec from now on, and this `slot`. */
int berth_rendezvous_enter(struct berth_rendezvous *rendezvous, struct berth_err *err);

/* The same for a task that only waits. Its descriptors stay as they are: it may become
 * a program that enters. When it has waited, and joins, it leaves: they are closed. */
int berth_rendezvous_map(struct berth_rendezvous *rendezvous, struct berth_err *err);
void berth_rendezvous_leave(struct berth_rendezvous *rendezvous);

/* In slurmstepd: the last task has ended. Returns when the container has too, or takes
 * too long: Slurm kills what it still finds in a cgroup of the step, and then sleeps
 * for a second. */
void berth_rendezvous_close(struct berth_rendezvous *rendezvous);

/* Is the caller the one that starts the container, if the rendezvous is NEW, and that
 * speaks for all? True for one process of a slot. TASKS: how many the slot is for. */
bool berth_rendezvous_claim(struct berth_rendezvous *rendezvous, unsigned int tasks);

/* The caller leaves the starting to process PID: waiters give up when it is gone. */
void berth_rendezvous_set_starter(struct berth_rendezvous *rendezvous, pid_t pid);

/* Who starts the container says how that went, and wakes all waiters. A waiter may have
 * given up for all: then nothing changes, the container has to end, and -1 is returned
 * (with a sentence in ERR). */
int berth_rendezvous_fail(struct berth_rendezvous *rendezvous,
                          const struct berth_err *why);
int berth_rendezvous_separate(struct berth_rendezvous *rendezvous, const char *why,
                              struct berth_err *err);

/* The container that was READY has ended. */
void berth_rendezvous_lose(struct berth_rendezvous *rendezvous);

/* Wait until it has, or for so many seconds. Returns whether it has. */
bool berth_rendezvous_await_loss(struct berth_rendezvous *rendezvous,
                                 unsigned int seconds);

enum berth_rendezvous_state
berth_rendezvous_state(const struct berth_rendezvous *rendezvous);

/* Why tasks may not join a container; NULL: they may. The state says nothing of it:
 * somebody may have to look into one. */
const char *berth_rendezvous_why_forbidden(const struct berth_rendezvous *rendezvous);

/* The runtime of a container of this rendezvous has unpacked its image. Returns whether
 * that is known for the first time. */
bool berth_rendezvous_set_unpacked(const struct berth_rendezvous *rendezvous);
bool berth_rendezvous_is_unpacked(const struct berth_rendezvous *rendezvous);

/* Stores the answer of --mpi-bind (report/binding.h) for the tasks, which have it when
 * they have waited. Call it once, before the state changes. */
int berth_rendezvous_put_binding(struct berth_rendezvous *rendezvous,
                                 const struct berth_buf *bytes, struct berth_err *err);
int berth_rendezvous_get_binding(const struct berth_rendezvous *rendezvous,
                                 struct berth_binding *ret_binding,
                                 struct berth_err *err);

/* As berth_rendezvous_separate(): tasks join process HOLDER, whose environment is
 * AFTER, made from BEFORE (both like /proc/PID/environ). */
int berth_rendezvous_ready(struct berth_rendezvous *rendezvous, pid_t holder,
                           const struct berth_buf *before,
                           const struct berth_buf *after, struct berth_err *err);

/* What is said when it did not start in time: the seconds that it had. */
#define BERTH_RENDEZVOUS_TOO_LATE                                                      \
    "the container did not start within %u seconds; ask the administrators "           \
    "(start_timeout in berth.yaml)"

/* What is said when who started it is gone. */
#define BERTH_RENDEZVOUS_STARTER_KILLED                                                \
    "the process that started the container was killed; submit the step again"

/* Wait until the state is neither NEW nor STARTING. Returns it; FAILED, with a sentence
 * in ERR, for each way to fail. When the time is over, or the process that starts the
 * container is gone, the start has failed for all tasks. In SEPARATE, ERR says why. */
enum berth_rendezvous_state berth_rendezvous_wait(struct berth_rendezvous *rendezvous,
                                                  struct berth_err *err);

/* The arguments of berth_rendezvous_ready(); valid as long as the rendezvous. */
pid_t berth_rendezvous_holder(const struct berth_rendezvous *rendezvous);
const char *berth_rendezvous_before(const struct berth_rendezvous *rendezvous,
                                    size_t *ret_count);
const char *berth_rendezvous_after(const struct berth_rendezvous *rendezvous,
                                   size_t *ret_count);

/* The CPUs of slurmstepd: those that Slurm leaves to the system on this node
 * (CpuSpecList in slurm.conf(5)), or else all of the step. */
const cpu_set_t *berth_rendezvous_cpus(const struct berth_rendezvous *rendezvous);

/* Seconds that a start may take, from berth_rendezvous_claim() on, and what is left of
 * them. */
unsigned int berth_rendezvous_limit(const struct berth_rendezvous *rendezvous);
struct berth_deadline *
berth_rendezvous_deadline(const struct berth_rendezvous *rendezvous);

/* Where those meet who start the containers of this node. NULL, with a sentence in ERR,
 * when out of memory. */
struct berth_outer *berth_rendezvous_outer(const struct berth_rendezvous *rendezvous,
                                           struct berth_err *err);

/* Tasks of the container, as who claimed it said. */
unsigned int berth_rendezvous_tasks(const struct berth_rendezvous *rendezvous);
