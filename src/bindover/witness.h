/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strvec.h"
#include "bindover/mapped.h"
#include "plan/order.h"
#include "plan/binding.h"
#include "container/namespaces.h"

/* The image's loader predicted before the start which MPI would run. The witness checks
 * it while the step runs. A rank of the node is right if one of its processes has
 * loaded the host's MPI, as shown by the rank's mark (ipc/loadmark.h) or by the files
 * that its processes have mapped, and none of its processes has initialized another
 * one. If a process has, the witness prints a line, and kills the tasks of the node if
 * the host's MPI was asked for, or if that rank has none of the host's and other ranks
 * run with it. Where it is not certain that the other MPI answers, it prints a warning.
 * If two MPIs of the host are mounted, one of them may not support the step's process
 * manager: a rank that loads that one is wrong, too. The witness ignores a rank that
 * uses no MPI, but warns if the host's MPI was asked for, no rank loads one, and no
 * task fails. It warns, too, if several ranks start an mpirun.
 *
 * If the host's fabric is under the image's own MPI, ranks are right that load the
 * fabric. */
struct berth_witness {
    const char *node;
    const struct berth_order *order;
    char *const *environment;     /* of a task on the host, ended by NULL */
    bool must;                    /* the mode asks for the host's MPI or nothing */
    bool verbose;                 /* print how many ranks are right, too */
    unsigned int tasks;           /* of the container on this node */
    struct berth_holder holder;   /* of the namespaces that the tasks share */
    struct berth_binding binding; /* what the ranks are to load */
    struct berth_strvec stages;   /* a stage on the host, the library that shows its use
                                     (bindover/mapped.h), ... */
};

/* From BERTH_RANK_WRONG on, a rank is reported. */
enum berth_rank_state {
    BERTH_RANK_UNKNOWN, /* no MPI was seen */
    BERTH_RANK_RIGHT,   /* it has loaded the host's MPI, or fabric */
    BERTH_RANK_WRONG,   /* it runs with another MPI, and has none of the host's */
    BERTH_RANK_ALONE,  /* it has an MPI of the host with which it finds no other rank */
    BERTH_RANK_SECOND, /* a process has the host's, and another process has initialized
                          another one */
    BERTH_RANK_BESIDE, /* a process has both, and has initialized the other one */
    BERTH_RANK_BOTH,   /* a process has both, and either may answer */
    BERTH_RANK_MAYBE,  /* a process has the host's, and another process has loaded
                          another one, perhaps without using it */
    BERTH_RANK_COPY,   /* it has a copy of the host's MPI, on the image's libraries */
};

struct berth_rank {
    pid_t pid;           /* 0: the task has not joined */
    int process;         /* a pidfd of it; -1: the kernel has none */
    unsigned int local;  /* its SLURM_LOCALID */
    unsigned int number; /* of the rank in the step */
    enum berth_rank_state state;
    enum berth_rank_state suspicion; /* what it may be, from WRONG on; else UNKNOWN */
    bool has_ended;
    bool has_initialized; /* a process was seen that has initialized the host's MPI */
    bool has_libraries;   /* of the host, beside its MPI, were seen */
    long long inspected;  /* when its processes were inspected last (berth_clock()) */
    long long suspected;  /* when the suspicion began (berth_clock()) */
    long long idle_since; /* when a process was first seen with another MPI that it had
                             not initialized (berth_clock()); 0: never */
    char *path;           /* of the other MPI; NULL: none was suspected */
    char *name;           /* of that MPI, for people */
    char *starter;        /* the mpirun that a process of it was; NULL: none was seen */
};

/* Judges RANKS, of which WITNESS says how many there are. If one is wrong, or may be,
 * returns true, with a sentence about the first in RET, and in *RET_END whether to kill
 * the tasks. */
bool berth_witness_judge(const struct berth_witness *witness,
                         const struct berth_rank *ranks, struct berth_err *ret,
                         bool *ret_end);

/* Do several tasks start ranks themselves, each an MPI_COMM_WORLD of its own? Then
 * returns true, with the sentence in RET. The witness sees the tasks of its node: two
 * RANKS are enough, and one if it is not the first of the step, and no other rank of
 * the node can follow (IS_LAST). */
bool berth_witness_judge_starters(const struct berth_witness *witness,
                                  const struct berth_rank *ranks, bool is_last,
                                  struct berth_err *ret);

/* Must RANK be inspected NOW (berth_clock())? A rank that has initialized the host's
 * MPI, once a second. */
bool berth_witness_is_due(const struct berth_witness *witness,
                          const struct berth_rank *rank, long long now);

/* What a look at a rank's processes and marks has found. */
struct berth_rank_seen {
    enum berth_rank_state state; /* by marks and files: RIGHT, ALONE or UNKNOWN */
    const struct berth_mapped_seen *mapped;
};

/* Updates the state of RANK, which was right, wrong or suspect before, with what was
 * SEEN at NOW (berth_clock()). WITNESS says what ranks are to load. */
void berth_witness_update(const struct berth_witness *witness, struct berth_rank *rank,
                          const struct berth_rank_seen *seen, long long now);

/* Sets RET to a sentence: how many of RANKS have loaded the host's MPI or fabric. */
void berth_witness_count(const struct berth_witness *witness,
                         const struct berth_rank *ranks, struct berth_err *ret);

/* Did RANKS load no MPI, though several tasks ask for the host's, and does this node
 * say so? SUPERVISOR is the socket to it, from which the byte at the end of the step is
 * read (ipc/channel.h): after a failed task, or if the supervisor was killed, the
 * answer is no, because the step has an error of its own. */
bool berth_witness_misses_mpi(const struct berth_witness *witness,
                              const struct berth_rank *ranks, int supervisor);

/* Watches until all ranks are wrong or have ended, or until standard input ends, which
 * the supervisor closes with the step, after a byte that says whether a task has failed
 * (ipc/channel.h). Prints lines to standard error. */
void berth_witness_run(const struct berth_witness *witness);

void berth_witness_fini(struct berth_witness *witness);
