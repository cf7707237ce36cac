/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strvec.h"
#include "plan/order.h"
#include "report/binding.h"
#include "witness/network.h"

/* What the image's loader said before the start is a forecast. The witness checks while
 * the step runs. A rank of the node has loaded the host's MPI, by its mark
 * (step/mark.h) or by the files that its processes have mapped; or it runs with another
 * MPI: then the witness prints a line, and kills the tasks of the node if the host's
 * MPI was asked for or if other ranks run with it. If two MPIs of the host are mounted,
 * one of them may not speak the step's process manager: a rank that loads that one is
 * wrong, too. The witness ignores a rank that loads no MPI.
 *
 * Where the host's fabric is under the image's own MPI, it is those libraries that
 * ranks load. Where the site's profile says which devices ranks have open that reach
 * other nodes, one that uses TCP is told, and is an error where a fabric is required.
 */
struct berth_witness {
    const char *node;
    const struct berth_order *order;
    char *const *environment; /* of a task on the host, ended by NULL */
    bool must;                /* the mode asks for the host's MPI or nothing */
    bool verbose;             /* also print how many ranks are right */
    bool has_others;          /* there are ranks on other nodes */
    unsigned int tasks;       /* of the container on this node */
    pid_t holder; /* of the namespaces that the tasks share; 0: they do not */
    pid_t parent; /* of the tasks: slurmstepd */
    struct berth_binding binding; /* what the ranks are to load, and to open */
    struct berth_strvec stages;   /* a stage on the host, the library that tells of it
                                     (witness/mapped.h), ... */
};

enum berth_rank_state {
    BERTH_RANK_UNKNOWN, /* no MPI was seen */
    BERTH_RANK_RIGHT,   /* it has loaded the host's MPI, or fabric */
    BERTH_RANK_WRONG,   /* it runs with another */
    BERTH_RANK_ALONE,   /* with one of the host's by which it finds no other rank */
};

struct berth_rank {
    pid_t pid;           /* 0: the task has not joined */
    unsigned int local;  /* its SLURM_LOCALID */
    unsigned int number; /* of the rank in the step */
    enum berth_rank_state state;
    enum berth_network network; /* that it uses; of a rank that has an MPI */
    bool has_mpi;               /* the host's, or another */
    bool has_ended;
    long long suspected; /* since when, as berth_clock(); 0: it is not */
    char *path;          /* of the other MPI; NULL: it is one of the host's */
    char *name;          /* the same, for people */
};

/* Judges RANKS: RET gets the sentence about a wrong rank, and *RET_END whether the
 * tasks are to be killed for it. Returns false when no rank is wrong. */
bool berth_witness_judge(const struct berth_witness *witness,
                         const struct berth_rank *ranks, struct berth_err *ret,
                         bool *ret_end);

/* Has an MPI on a fabric of the host chosen another network? RET gets the sentence. */
bool berth_witness_judge_fabric(const struct berth_witness *witness,
                                const struct berth_rank *ranks, struct berth_err *ret);

/* Sets in RET how many of RANKS have loaded what the host has for them, and what
 * network they use. */
void berth_witness_count(const struct berth_witness *witness,
                         const struct berth_rank *ranks, struct berth_err *ret);

/* Watch until all ranks are known or have ended, or standard input ends, which the
 * supervisor closes with the step. Lines go to standard error. */
void berth_witness_run(const struct berth_witness *witness);

void berth_witness_fini(struct berth_witness *witness);
