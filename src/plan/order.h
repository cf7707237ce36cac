/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"
#include "request/request.h"
#include "site/terms.h"

/* What berth-task, and later berth-mpi, is to do. The plugin, or `berth run`, writes
 * the order into a variable of the task, berth-task takes it out of the environment,
 * and the supervisor hands it on to berth-mpi. Whoever starts berth-task sets it over
 * what a user has exported. A task prolog of the user runs later and can replace it,
 * which is no boundary: berth-task runs as the user. */
#define BERTH_TASK_ORDER "BERTH_TASK_ORDER"

/* The host's name in messages; Slurm sets it for every task. */
#define BERTH_TASK_NODE "SLURMD_NODENAME"

/* Bytes of the longest one. Linux takes 128 KiB for one string of the environment, with
 * its name (MAX_ARG_STRLEN); so does Slurm. */
#define BERTH_ORDER_MAX ((size_t)131000)

/* The component of the order in its step. All zero without Slurm. */
struct berth_order_step {
    int component;      /* its number in the step, from 0 */
    bool is_several;    /* the step has others too */
    unsigned int nodes; /* of the component; 0: not known */
    unsigned int tasks; /* of the component; 0: not known */
    bool leads;         /* this is its first node, which prints for it */
    bool speaks;        /* and for the whole step */
    char *ranks;        /* with --multi-prog: of the lines with this request, of which
                           `tasks` is the number; NULL: it is the whole component's */
    bool is_first;      /* with --multi-prog: this task is the first of these */
};

/* The container of the task on its node. */
struct berth_order_container {
    unsigned int number; /* of the step's, from 0 */
    unsigned int tasks;  /* that are in it on this node */
    unsigned int others; /* other containers of the step with tasks on this node */
    char *locals;     /* where the node has other tasks, too: SLURM_LOCALID of those in
                         it, as in request/ranks.h; NULL: all */
    char *ranks;      /* with --multi-prog, for a record: in it on all nodes, */
    unsigned int all; /* and their number; NULL, 0: as in the step */
    unsigned int hosts; /* tasks on this node that are in no container */
    bool has_spaces;    /* one of the containers has namespaces of its own
                           (berth_request_has_namespaces()) */
};

/* What only berth-mpi is to know of the container. */
struct berth_order_mpi {
    pid_t holder;       /* of the namespaces */
    pid_t parent;       /* of the tasks */
    unsigned int tasks; /* of the step on this node */
    unsigned int apart; /* as in mpi/reach.h */
    int seconds;        /* that are left */
    int user, site;     /* the roots of stages that the container mounts; -1: it does
                           not */
    int task_stderr;    /* standard error of a task; -1: none */
    char *directory;    /* working directory of the task; NULL: gone */
};

/* A value struct: start with BERTH_ORDER_EMPTY. berth_order_fini() is for what
 * berth_order_get() has made; a writer borrows everything. */
struct berth_order {
    struct berth_request request; /* that runs */
    struct berth_request asked;   /* the user's, for --container-explain; without an
                                     image: the same */
    struct berth_terms terms;     /* of the site */
    struct berth_order_step step;
    struct berth_order_container container;
    struct berth_strvec restored;   /* for --container-explain: variables past --export:
                                       name, title of a list, ... */
    struct berth_strvec programs;   /* with --multi-prog: of all tasks of the container,
                                       where these differ; none: that of the command */
    struct berth_strvec allocation; /* with --mpi-bind=launch: what Slurm's variables
                                       say of the job */
    char *prefix;              /* the site's option_prefix, for messages; NULL: none */
    char *runtime;             /* the site's; NULL: find one */
    char *record;              /* where the record of the component goes
                                  (report/record.h); NULL: none is kept */
    unsigned int digest_limit; /* as in report/record.h */
    char *argv0;               /* the user's, where berth-task stands in its place
                                  (Slurm before 23.11); NULL: it does not */
    unsigned int job;          /* whose container stays for its later steps; 0: it ends
                                  with the step */
    int report;                /* descriptor of step/report.h; -1: none */
    int memory, tasks, ended;  /* those of step/rendezvous.h; -1: none */
    bool is_closed;            /* the container (berth_request_is_closed()); not sent */
    struct berth_order_mpi mpi;
};

#define BERTH_ORDER_EMPTY                                                              \
    {                                                                                  \
        .report = -1, .memory = -1, .tasks = -1, .ended = -1, .mpi = {                 \
            .user = -1,                                                                \
            .site = -1,                                                                \
            .task_stderr = -1                                                          \
        }                                                                              \
    }

/* What a record of the container says of the step: all ranks in it. Borrows. */
struct berth_order_step berth_order_recorded(const struct berth_order *order);

/* Is the step one of several components in one allocation, and not of a heterogeneous
 * job? TASK is the environment of a task of it. */
bool berth_order_het_step(const struct berth_order_step *step, char *const *task);

/* Why the container ends with its step though the request says that it is to last as
 * long as its job; NULL: that does not stand against it. APART: why each task has a
 * container of its own (NULL). */
const char *berth_order_why_step(const struct berth_order *order, const char *apart);

/* Which commands of Slurm the container has, a word of the site's key `inside`; NULL:
 * none, because the site denies them, the container is to be closed, or there is no
 * step of Slurm. */
const char *berth_order_inside(const struct berth_order *order);

/* Append ORDER to BUF. Returns 0, or -1 with a sentence when it is longer than
 * BERTH_ORDER_MAX. */
int berth_order_put(const struct berth_order *order, struct berth_buf *buf,
                    struct berth_err *err);

/* Read an order; its request is checked like a user's. On success the caller owns *RET.
 */
int berth_order_get(const char *text, struct berth_order *ret, struct berth_err *err);

void berth_order_fini(struct berth_order *order);

#define BERTH_ORDER __attribute__((cleanup(berth_order_fini)))
