/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_STEP_RENDEZVOUS_H
#define BERTH_STEP_RENDEZVOUS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"

/* Where the tasks of a step on a node meet: memory, a pair of sockets and a pipe that
 * slurmstepd makes before it forks them, and that they inherit. There is no file,
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
    struct berth_rendezvous_page *page;
    int memory; /* descriptor of the shared memory */
    int tasks;  /* one socket: end of file when the last task has ended */
    int alive;  /* the other; slurmstepd's; -1 elsewhere */
    int ended;  /* the pipe: in slurmstepd its reading end, elsewhere its writing end;
                   -1: none */
};

/* In slurmstepd: make a rendezvous. Returns 0, or -1 with a sentence in ERR, and
 * nothing is left of it (page is NULL). */
int berth_rendezvous_make(struct berth_rendezvous *rendezvous, struct berth_err *err);

/* In slurmstepd: it is for TASKS tasks, LIMIT are the seconds that a start may take,
 * and the container gets the CPUs of the caller. */
void berth_rendezvous_furnish(struct berth_rendezvous *rendezvous, unsigned int tasks,
                              unsigned int limit);

/* Its descriptors as text, for berth_rendezvous_enter() in another program. */
void berth_rendezvous_name(const struct berth_rendezvous *rendezvous, char *text,
                           size_t size);

/* In a task: use the rendezvous that TEXT names. Its descriptors close on exec from now
 * on.
 */
int berth_rendezvous_enter(struct berth_rendezvous *rendezvous, const char *text,
                           struct berth_err *err);

/* In slurmstepd: the last task has ended. Returns when the container has too, or takes
 * too long: Slurm kills what it still finds in a cgroup of the step, and then sleeps
 * for a second. */
void berth_rendezvous_close(struct berth_rendezvous *rendezvous);

/* Is the caller the one that starts the container, if the rendezvous is NEW, and that
 * speaks for all? True for one caller of a rendezvous. */
bool berth_rendezvous_claim(struct berth_rendezvous *rendezvous);

/* The caller leaves the starting to process PID: waiters give up when it is gone. */
void berth_rendezvous_hand_on(struct berth_rendezvous *rendezvous, pid_t pid);

/* Who starts the container says how that went, and wakes all waiters. A waiter may have
 * given up for all: then nothing changes, the container has to end, and -1 is returned
 * (with a sentence in ERR). */
int berth_rendezvous_fail(struct berth_rendezvous *rendezvous,
                          const struct berth_err *why);
int berth_rendezvous_separate(struct berth_rendezvous *rendezvous, const char *why,
                              struct berth_err *err);

/* The container that was READY has ended. */
void berth_rendezvous_lose(struct berth_rendezvous *rendezvous);

enum berth_rendezvous_state
berth_rendezvous_state(const struct berth_rendezvous *rendezvous);

/* Tasks of this rendezvous may not join a container, and WHY. The state stays: somebody
 * may have to look into one. */
void berth_rendezvous_forbid(struct berth_rendezvous *rendezvous, const char *why);
const char *berth_rendezvous_forbidden(
    const struct berth_rendezvous *rendezvous); /* NULL: they may */

/* A sentence about the container for people; NULL: none. */
void berth_rendezvous_note(struct berth_rendezvous *rendezvous, const char *note);
const char *berth_rendezvous_noted(const struct berth_rendezvous *rendezvous);

/* Rendezvous of the step on other nodes may have another note: each node says its own.
 */
void berth_rendezvous_differ(struct berth_rendezvous *rendezvous);
bool berth_rendezvous_differs(const struct berth_rendezvous *rendezvous);

/* A warning that a task prints in any case; NULL: none. */
void berth_rendezvous_warn(struct berth_rendezvous *rendezvous, const char *warning);
const char *berth_rendezvous_warned(const struct berth_rendezvous *rendezvous);

/* The runtime of a container of this rendezvous has unpacked its image. Returns whether
 * that is known for the first time. */
bool berth_rendezvous_unpack(const struct berth_rendezvous *rendezvous);
bool berth_rendezvous_unpacked(const struct berth_rendezvous *rendezvous);

/* Stores the findings for an account (report/explain.h): strings, each ended by NUL.
 * Call it before the state changes and before berth_rendezvous_put(). Returns 0, or -1
 * with a sentence in ERR. */
int berth_rendezvous_tell(struct berth_rendezvous *rendezvous,
                          const struct berth_buf *findings, struct berth_err *err);
const char *berth_rendezvous_told(const struct berth_rendezvous *rendezvous,
                                  size_t *ret_count);

/* Stores what the tasks get when they have waited: two lists of strings, each ended by
 * NUL. */
int berth_rendezvous_put(struct berth_rendezvous *rendezvous,
                         const struct berth_buf *before, const struct berth_buf *after,
                         struct berth_err *err);

/* As berth_rendezvous_separate(): tasks join process HOLDER, whose environment is
 * AFTER, made from BEFORE (both like /proc/PID/environ). */
int berth_rendezvous_ready(struct berth_rendezvous *rendezvous, pid_t holder,
                           const struct berth_buf *before,
                           const struct berth_buf *after, struct berth_err *err);

/* Wait until the state is neither NEW nor STARTING. Returns it; FAILED, with a sentence
 * in ERR, for each way to fail. When the time is over, or the process that starts the
 * container is gone, the start has failed for all tasks. In SEPARATE, ERR says why. */
enum berth_rendezvous_state berth_rendezvous_wait(struct berth_rendezvous *rendezvous,
                                                  struct berth_err *err);

/* The arguments of berth_rendezvous_ready() or berth_rendezvous_put(); valid as long as
 * the rendezvous.
 */
pid_t berth_rendezvous_holder(const struct berth_rendezvous *rendezvous);
const char *berth_rendezvous_before(const struct berth_rendezvous *rendezvous,
                                    size_t *ret_count);
const char *berth_rendezvous_after(const struct berth_rendezvous *rendezvous,
                                   size_t *ret_count);

/* The CPUs of the step on this node: those of slurmstepd. */
const cpu_set_t *berth_rendezvous_cpus(const struct berth_rendezvous *rendezvous);

/* Seconds that a start may take, from berth_rendezvous_claim() on, and what is left of
 * them.
 */
unsigned int berth_rendezvous_limit(const struct berth_rendezvous *rendezvous);
struct berth_deadline *
berth_rendezvous_deadline(const struct berth_rendezvous *rendezvous);

/* Tasks of the step on this node. */
unsigned int berth_rendezvous_tasks(const struct berth_rendezvous *rendezvous);

#endif
