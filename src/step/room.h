/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_STEP_ROOM_H
#define BERTH_STEP_ROOM_H

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

enum berth_room_state {
    BERTH_ROOM_NEW,      /* nobody has started the container */
    BERTH_ROOM_STARTING, /* somebody does */
    BERTH_ROOM_READY,    /* tasks can join it */
    BERTH_ROOM_SEPARATE, /* it cannot be joined: each task starts its own */
    BERTH_ROOM_FAILED,   /* it did not start; the sentence says why */
    BERTH_ROOM_LATE,     /* it did not start in time */
    BERTH_ROOM_KILLED,   /* the process that started it is gone */
    BERTH_ROOM_LOST      /* it ended before its tasks */
};

struct berth_room_page; /* the shared memory */

struct berth_room {
    struct berth_room_page *page;
    int memory; /* descriptor of the shared memory */
    int tasks;  /* one socket: end of file when the last task has ended */
    int alive;  /* the other; slurmstepd's; -1 elsewhere */
    int ended;  /* the pipe: in slurmstepd its reading end, elsewhere its writing end;
                   -1: none */
};

/* In slurmstepd: make a room. Returns 0, or -1 with a sentence in ERR, and nothing is
 * left of it (page is NULL). */
int berth_room_make(struct berth_room *room, struct berth_err *err);

/* In slurmstepd: it is for TASKS tasks, LIMIT are the seconds that a start may take,
 * and the container gets the CPUs of the caller. */
void berth_room_furnish(struct berth_room *room, unsigned int tasks,
                        unsigned int limit);

/* Its descriptors as text, for berth_room_enter() in another program. */
void berth_room_name(const struct berth_room *room, char *text, size_t size);

/* In a task: use the room that TEXT names. Its descriptors close on exec from now on.
 */
int berth_room_enter(struct berth_room *room, const char *text, struct berth_err *err);

/* In slurmstepd: the last task has ended. Returns when the container has too, or takes
 * too long: Slurm kills what it still finds in a cgroup of the step, and then sleeps
 * for a second. */
void berth_room_close(struct berth_room *room);

/* Is the caller the one that starts the container, if the room is NEW, and that speaks
 * for all? True for one caller of a room. */
bool berth_room_claim(struct berth_room *room);

/* The caller leaves the starting to process PID: waiters give up when it is gone. */
void berth_room_hand_on(struct berth_room *room, pid_t pid);

/* Who starts the container says how that went, and wakes all waiters. A waiter may have
 * given up for all: then nothing changes, the container has to end, and -1 is returned
 * (with a sentence in ERR). */
int berth_room_fail(struct berth_room *room, const struct berth_err *why);
int berth_room_separate(struct berth_room *room, const char *why,
                        struct berth_err *err);

/* The container that was READY has ended. */
void berth_room_lose(struct berth_room *room);

enum berth_room_state berth_room_state(const struct berth_room *room);

/* Tasks of this room may not join a container, and WHY. The state stays: somebody may
 * have to look into one. */
void berth_room_forbid(struct berth_room *room, const char *why);
const char *berth_room_forbidden(const struct berth_room *room); /* NULL: they may */

/* A sentence about the container for people; NULL: none. */
void berth_room_note(struct berth_room *room, const char *note);
const char *berth_room_noted(const struct berth_room *room);

/* Rooms of the step on other nodes may have another note: each node says its own. */
void berth_room_differ(struct berth_room *room);
bool berth_room_differs(const struct berth_room *room);

/* A warning that a task prints in any case; NULL: none. */
void berth_room_warn(struct berth_room *room, const char *warning);
const char *berth_room_warned(const struct berth_room *room);

/* The runtime of a container of this room has unpacked its image. Returns whether that
 * is known for the first time. */
bool berth_room_unpack(const struct berth_room *room);
bool berth_room_unpacked(const struct berth_room *room);

/* Stores the findings for an account (report/explain.h): strings, each ended by NUL.
 * Call it before the state changes and before berth_room_put(). Returns 0, or -1 with a
 * sentence in ERR. */
int berth_room_tell(struct berth_room *room, const struct berth_buf *findings,
                    struct berth_err *err);
const char *berth_room_told(const struct berth_room *room, size_t *ret_count);

/* Stores what the tasks get when they have waited: two lists of strings, each ended by
 * NUL. */
int berth_room_put(struct berth_room *room, const struct berth_buf *before,
                   const struct berth_buf *after, struct berth_err *err);

/* As berth_room_separate(): tasks join process HOLDER, whose environment is AFTER, made
 * from BEFORE (both like /proc/PID/environ). */
int berth_room_ready(struct berth_room *room, pid_t holder,
                     const struct berth_buf *before, const struct berth_buf *after,
                     struct berth_err *err);

/* Wait until the state is neither NEW nor STARTING. Returns it; FAILED, with a sentence
 * in ERR, for each way to fail. When the time is over, or the process that starts the
 * container is gone, the start has failed for all tasks. In SEPARATE, ERR says why. */
enum berth_room_state berth_room_wait(struct berth_room *room, struct berth_err *err);

/* The arguments of berth_room_ready() or berth_room_put(); valid as long as the room.
 */
pid_t berth_room_holder(const struct berth_room *room);
const char *berth_room_before(const struct berth_room *room, size_t *ret_count);
const char *berth_room_after(const struct berth_room *room, size_t *ret_count);

/* The CPUs of the step on this node: those of slurmstepd. */
const cpu_set_t *berth_room_cpus(const struct berth_room *room);

/* Seconds that a start may take, from berth_room_claim() on, and what is left of them.
 */
unsigned int berth_room_limit(const struct berth_room *room);
struct berth_deadline *berth_room_deadline(const struct berth_room *room);

/* Tasks of the step on this node. */
unsigned int berth_room_tasks(const struct berth_room *room);

#endif
