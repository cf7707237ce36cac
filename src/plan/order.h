/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"
#include "request/request.h"
#include "site/terms.h"

/* An order says what berth-task, and later berth-mpi, is to do. The plugin writes it
 * into this variable of the task, over what a user has exported. berth-task removes it
 * from the environment, and the supervisor passes it on to berth-mpi. `berth run` makes
 * the order of its own task, and only berth-start gets it in the variable. A task
 * prolog of the user runs later and can replace it; this gains nothing, because
 * berth-task runs as the user. */
#define BERTH_TASK_ORDER "BERTH_TASK_ORDER"

/* The node's name in messages; Slurm sets this variable for each task. */
#define BERTH_TASK_NODE "SLURMD_NODENAME"

/* Bytes of the longest order. Linux and Slurm accept 128 KiB for one string of the
 * environment, with its name (MAX_ARG_STRLEN). */
#define BERTH_ORDER_MAX ((size_t)131000)

/* The component of the order in its step. All zero without Slurm. */
struct berth_order_step {
    int component;         /* its number in the step, from 0 */
    bool is_several;       /* the step has several components */
    unsigned int nodes;    /* of the component; 0: not known */
    unsigned int tasks;    /* of the component; 0: not known */
    bool prints_component; /* this node prints for the component: it is the first */
    bool prints_step;      /* this node prints for the whole step */
    char *ranks;      /* with --multi-prog: the ranks of the lines with this request;
                         `tasks` is their number; NULL: the whole component */
    bool is_first;    /* this task is the first of `ranks`, or of the component */
    bool is_one_file; /* standard output and error of the tasks are one file, which
                         gets errors and warnings of berth, but no notes */
    bool has_color;   /* what explains the component is printed in colours */
};

/* The container of the task on its node. */
struct berth_order_container {
    unsigned int number; /* its number in the step, from 0 */
    unsigned int tasks;  /* the number of its tasks on this node */
    unsigned int others; /* the number of other containers of the step on this node */
    char *locals;        /* SLURM_LOCALID of its tasks, as in request/ranks.h; NULL: all
                            tasks on this node are in it */
    char *ranks;      /* with --multi-prog, for a record: its ranks on all nodes; NULL:
                         those of the step */
    unsigned int all; /* the number of these ranks; 0: that of the step */
    unsigned int hosts; /* the number of tasks on this node outside of containers */
    bool has_spaces;    /* a container on this node has namespaces of its own, or is
                           closed (berth_request_is_separate()) */
};

/* Facts about the container for berth-mpi only. */
struct berth_order_mpi {
    pid_t holder;          /* the process in the container's namespaces */
    unsigned int mounts;   /* inode of its mount namespace */
    int seconds;           /* that are left for berth-mpi */
    int task_stderr;       /* descriptor; -1: none */
    char *directory;       /* working directory of the task; NULL: removed */
    char *image_directory; /* that of the image, and whether it comes first: as in */
    bool prefers_image;    /* struct berth_become */
};

/* A value struct: start with BERTH_ORDER_EMPTY. End what berth_order_get() has made
 * with berth_order_fini(); an order to write borrows everything. */
struct berth_order {
    struct berth_request request; /* as the site lets it run */
    struct berth_request asked;   /* as the user asked; empty: the same */
    struct berth_terms terms;     /* of the site */
    struct berth_order_step step;
    struct berth_order_container container;
    struct berth_strvec restored; /* for --container-explain: name of a variable that
                                     --export drops, title of its list, ... */
    struct berth_strvec programs; /* with --multi-prog: the programs of all tasks of the
                                     container; empty: that of the command */
    struct berth_strvec allocation; /* with --mpi-bind=launch: Slurm's variables about
                                       the job */
    char *prefix;     /* the site's option_prefix, for messages; NULL: none */
    char *runtime;    /* path, of the site; NULL: find one */
    char *record;     /* pattern of the file for records (plan/record.h);
                         NULL: the site keeps none */
    char *argv0;      /* the user's argv[0], which berth-task has replaced (Slurm
                         before 23.11); NULL: it has not */
    char *script;     /* the command is the batch script of a job, whose path this is;
                         NULL: it is a program */
    unsigned int job; /* the job that keeps the container for its later steps;
                         0: the container ends with the step */
    int report;       /* descriptor of ipc/report.h; -1: none */
    int memory, tasks, ended; /* descriptors of ipc/rendezvous.h; -1: none */
    bool is_closed; /* berth_request_is_closed(); not in the text of the order */
    struct berth_order_mpi mpi;
};

#define BERTH_ORDER_EMPTY                                                              \
    {                                                                                  \
        .report = -1, .memory = -1, .tasks = -1, .ended = -1, .mpi = {                 \
            .task_stderr = -1                                                          \
        }                                                                              \
    }

/* Does STEP have several components in one allocation, unlike in a heterogeneous job?
 * TASK is the environment of one of its tasks. */
bool berth_order_het_step(const struct berth_order_step *step, char *const *task);

/* Why the container ends with its step although the request asks for the lifetime of
 * the job; NULL: it does not, or the request does not ask for that. SEPARATE is the
 * reason why each task has its own container; NULL: the tasks share one. */
const char *berth_order_why_step(const struct berth_order *order, const char *separate);

/* Which commands of Slurm the container has: a word of the site's key `inside`. NULL:
 * none, and *RET_WHY (unless RET_WHY is NULL) is the reason. */
const char *berth_order_inside(const struct berth_order *order, const char **ret_why);

/* Append ORDER to BUF as text. Returns 0, or -1 with a sentence in ERR if the text is
 * longer than BERTH_ORDER_MAX. */
int berth_order_put(const struct berth_order *order, struct berth_buf *buf,
                    struct berth_err *err);

/* Parse the TEXT of an order; its request is checked like that of a user. Returns 0,
 * and the caller owns *RET; or -1 with a sentence in ERR. */
int berth_order_get(const char *text, struct berth_order *ret, struct berth_err *err);

void berth_order_fini(struct berth_order *order);

#define BERTH_ORDER __attribute__((cleanup(berth_order_fini)))
