/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"
#include "container/namespaces.h"
#include "container/outer.h"

/* Where the tasks of a step on a node meet: memory, a pair of sockets and a pipe that
 * slurmstepd makes before it forks the tasks, and that the tasks inherit. With
 * --multi-prog the step may have several containers on a node: the memory has a slot
 * for each, and the tasks of a container meet in its slot. No file, directory or lock
 * can be left over or belong to somebody else, and no two steps can meet by mistake.
 *
 * The sockets tell the container when to end: only slurmstepd has one of them, and
 * shuts it down after the last task, or dies. The pipe tells slurmstepd when the
 * container has ended: tasks open its writing end, and the processes that stay with a
 * container keep it open. Nothing depends on slurmstepd closing a descriptor:
 * slurmstepd may call the plugin in a child that shares its memory but not its
 * descriptors (SlurmdParameters=contain_spank). */

enum berth_rendezvous_state {
    BERTH_RENDEZVOUS_NEW,      /* no task has claimed the start */
    BERTH_RENDEZVOUS_STARTING, /* a task or its supervisor starts the container */
    BERTH_RENDEZVOUS_READY,    /* tasks can join it */
    BERTH_RENDEZVOUS_SEPARATE, /* it cannot be joined: each task starts its own */
    BERTH_RENDEZVOUS_FAILED,   /* it did not start; the sentence says why */
    BERTH_RENDEZVOUS_LATE,     /* it did not start in time */
    BERTH_RENDEZVOUS_KILLED,   /* the process that started it is gone */
    BERTH_RENDEZVOUS_LOST      /* it ended before its tasks */
};

/* What the containers of the node have in common, at the start of the memory. */
struct berth_rendezvous_node {
    unsigned int limit; /* of a start, in seconds */
    cpu_set_t cpus; /* of slurmstepd: those that Slurm leaves to the system on this node
                       (CpuSpecList in slurm.conf(5)), or else all of the step */
    struct berth_err forbidden; /* why tasks must not join a container, though one may
                                   be needed for an inspection; "": they may */
    struct berth_outer outer;   /* for the supervisors of the node */
    atomic_bool has_failed;     /* a task has */
    atomic_bool is_saved;       /* a container is, when the last task has ended */
    atomic_bool is_changed;     /* the file of an image, since its container started */
    atomic_bool has_dropped;    /* a command has started without the host's
                                   LD_LIBRARY_PATH */
    atomic_bool has_refused;    /* a command has not started, and its task says why */
    atomic_bool has_mpirun;     /* the command is an mpirun without a word of --mpi-bind
                                   (berth_mpirun_is_alone()) */
};

/* A part of `text` below, in bytes. */
struct berth_rendezvous_text {
    size_t at, count;
};

/* What a container has, in its slot of the memory. */
/* What a start is doing, for people who wait. */
enum berth_rendezvous_phase {
    BERTH_PHASE_RUNTIME,   /* the runtime opens the image */
    BERTH_PHASE_JOB,       /* it waits for the job's server */
    BERTH_PHASE_LIBRARIES, /* berth-mpi reads the image, and stages */
    BERTH_PHASES
};

struct berth_rendezvous_page {
    _Atomic uint32_t state; /* enum berth_rendezvous_state; a futex */
    _Atomic pid_t starter;  /* the process that starts the container: waiting tasks give
                               up when it is gone; 0: none yet */
    struct berth_deadline deadline; /* of the start; from berth_rendezvous_claim() on */
    struct berth_err why;           /* in FAILED and SEPARATE */
    _Atomic uint32_t phase;         /* enum berth_rendezvous_phase, in STARTING */
    atomic_bool is_unpacked; /* the runtime has unpacked the image instead of mounting
                                it */
    atomic_bool is_squashfs; /* the image is a squashfs file */
    /* Complete when berth_rendezvous_wait() has returned. A task takes from here how to
     * join, and never what to do: its order is from slurmstepd, or its own. */
    struct berth_rendezvous_text binding, changes; /* plan/binding.h, plan/envdiff.h */
    struct berth_rendezvous_text image_directory;  /* of struct berth_launch */
    struct berth_holder holder;
    char text[];
};

struct berth_rendezvous {
    struct berth_rendezvous_node *node;
    struct berth_rendezvous_page
        *page;          /* of the slot; in slurmstepd, of the first slot */
    unsigned int slot;  /* of the task's container */
    unsigned int slots; /* in slurmstepd: how many there are */
    int memory;         /* descriptor of the shared memory */
    int tasks;          /* one socket: end of file when the last task has ended */
    int alive;          /* the other socket, in slurmstepd; -1 elsewhere */
    int ended; /* the pipe: in slurmstepd its reading end, elsewhere its writing end;
                  -1: none */
};

/* In slurmstepd: make a rendezvous for CONTAINERS containers (1 to
 * BERTH_CONTAINERS_MAX). Returns 0; -1 with a sentence in ERR, all descriptors closed
 * and a NULL page. */
int berth_rendezvous_make(struct berth_rendezvous *rendezvous, unsigned int containers,
                          struct berth_err *err);

/* In slurmstepd: set the LIMIT of a start, in seconds, and why tasks must not join a
 * container (FORBIDDEN; NULL: they may). The containers get the CPUs of the caller. */
void berth_rendezvous_configure(const struct berth_rendezvous *rendezvous,
                                unsigned int limit, const char *forbidden);

/* In slurmstepd: has a container ended before its tasks, or has what stays with it been
 * killed? */
bool berth_rendezvous_is_any_lost(const struct berth_rendezvous *rendezvous);

/* In a task: enter the rendezvous, of which `slot` and the descriptors `memory`,
 * `tasks` and `ended` are set. The descriptors close on exec afterwards. Returns 0, or
 * -1 with a sentence in ERR. */
int berth_rendezvous_enter(struct berth_rendezvous *rendezvous, struct berth_err *err);

/* The same for a task that only waits: map the memory, and leave the descriptors as
 * they are, because the task may become a program that enters. Before it joins the
 * container, the task leaves, which closes the descriptors. */
int berth_rendezvous_map(struct berth_rendezvous *rendezvous, struct berth_err *err);
void berth_rendezvous_leave(struct berth_rendezvous *rendezvous);

/* In slurmstepd: the last task has ended. Tells the container to end, and returns when
 * it has ended, or takes too long: else Slurm kills what is left in the cgroup of the
 * step, and sleeps for a second. The memory stays mapped. */
void berth_rendezvous_close(struct berth_rendezvous *rendezvous);

/* Claim the start of the container, and the notices of the node. Returns true for one
 * process of a slot, which is the starter from then on. */
bool berth_rendezvous_claim(const struct berth_rendezvous *rendezvous);

/* In place of slurmstepd (run/taskserver.h): has the container of SLOT failed, or
 * ended? Unmap the memory. */
bool berth_rendezvous_is_ended(const struct berth_rendezvous *rendezvous,
                               unsigned int slot);
void berth_rendezvous_unmap(struct berth_rendezvous *rendezvous);

/* Let no other process claim the start, whose time does not begin yet. Returns whether
 * none has. */
bool berth_rendezvous_reserve(const struct berth_rendezvous *rendezvous);

/* Store BYTES as *RET of the page, once, before the state changes; tasks read them when
 * they have waited. Returns 0, or -1 with a sentence in ERR. */
int berth_rendezvous_put(const struct berth_rendezvous *rendezvous,
                         const struct berth_buf *bytes,
                         struct berth_rendezvous_text *ret, struct berth_err *err);

/* The starter writes the result of the start, and wakes all waiting tasks. A waiting
 * task may have given up for all: then nothing changes, the container must end, and -1
 * is returned (with a sentence in ERR). */
int berth_rendezvous_fail(const struct berth_rendezvous *rendezvous,
                          const struct berth_err *why);
int berth_rendezvous_separate(const struct berth_rendezvous *rendezvous,
                              const char *why, struct berth_err *err);

/* The same, but tasks join HOLDER, and make CHANGES (plan/envdiff.h; like
 * /proc/PID/environ) in their environment. */
int berth_rendezvous_ready(const struct berth_rendezvous *rendezvous,
                           struct berth_holder holder, const struct berth_buf *changes,
                           struct berth_err *err);

/* A container that was READY has ended. */
void berth_rendezvous_lose(const struct berth_rendezvous *rendezvous);

/* Wait until it has ended, or for SECONDS. Returns whether it has ended. */
bool berth_rendezvous_await_loss(const struct berth_rendezvous *rendezvous,
                                 unsigned int seconds);

/* The sentence about a starter that was killed. */
#define BERTH_RENDEZVOUS_STARTER_KILLED                                                \
    "the process that started the container was killed; submit the step again"

/* The sentence about a container that ended before its tasks. */
#define BERTH_RENDEZVOUS_DIED                                                          \
    "the container died while the program ran (often: out of memory); do not trust "   \
    "the results of this step"

/* After berth_rendezvous_claim(): wait for the same as berth_rendezvous_wait(), for
 * MILLISECONDS of the deadline at most. Returns whether the state still is NEW or
 * STARTING. */
bool berth_rendezvous_goes_on(const struct berth_rendezvous *rendezvous,
                              int64_t milliseconds);

/* Wait until the state is neither NEW nor STARTING. Returns it; FAILED, with a sentence
 * in ERR, for each way to fail. When the time is over, or the process that starts the
 * container is gone, the start has failed for all tasks. In SEPARATE, ERR says why. */
enum berth_rendezvous_state
berth_rendezvous_wait(const struct berth_rendezvous *rendezvous, struct berth_err *err);
