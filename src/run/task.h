/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "plan/explain.h"
#include "plan/launch.h"
#include "plan/order.h"
#include "plan/binding.h"
#include "ipc/rendezvous.h"

/* A task. The process becomes its command, or ends, so nothing frees it. */
struct berth_task {
    struct berth_order order;
    struct berth_launch launch;   /* how its container is started, of its order; before
                                     berth_prepare() only its node, directory,
                                     environment, as Slurm has made it, and command */
    struct berth_binding binding; /* the answer of --mpi-bind for the node */
};

/* Read the order, and remove it from the environment; the command is in ARGV, and TASK
 * borrows it. Returns 0, or -1 with a sentence in ERR. */
int berth_task_read(struct berth_task *task, char **argv, struct berth_err *err);

/* Begin TASK, whose order is set: its command is COMMAND, and its environment that of
 * this process. Borrows both. */
void berth_task_begin(struct berth_task *task, char **command);

/* With --mpi-bind=local or launch: hide the step and its process manager from an mpirun
 * in this task; with launch it still sees the job. Changes environ. Returns 0, or -1
 * with a sentence in ERR. */
int berth_task_hide_step(struct berth_task *task, struct berth_err *err);

/* Refuse --mpi-bind=launch, whose mpirun starts daemons with srun, if the image gets no
 * srun, WHY (NULL: it gets one). Returns 0, or -1 with a sentence in ERR. */
int berth_task_check_launch(const struct berth_task *task, const char *why,
                            struct berth_err *err);

/* Check that everything is there that a container of TASK needs: the image, the sources
 * of mounts, the GPUs, the runtime. Then `launch` of TASK is complete; later calls
 * change nothing. Returns 0, or -1 with a sentence in ERR. */
int berth_prepare(struct berth_task *task, struct berth_err *err);

/* Collect in *RET, which borrows TASK, what is known of it on the host, to explain
 * its component. SEPARATE: why each task has a container of its own; NULL: tasks share
 * one. Runs the runtime for its version, so the process must be on the host. Returns 0,
 * or -1 with a sentence in ERR. */
int berth_explainfacts_collect(struct berth_task *task, const char *separate,
                               struct berth_explain *ret, struct berth_err *err);

/* Add what only a process that has joined the container sees: where its directories are
 * from, and where the command is. */
void berth_explainfacts_look(struct berth_explain *explain);

/* Print EXPLAIN on standard output. Returns 0, or -1 with a sentence in ERR. */
int berth_explainfacts_print(const struct berth_explain *explain,
                             struct berth_err *err);

/* Among the changes of the runtime: the umask in octal that the image's %environment
 * has set. Not a variable of the task. */
#define BERTH_TASK_UMASK "BERTH_UMASK"

/* Set each NAME=VALUE of LIST in the environment of this process, and unset each NAME.
 * Takes the strings. Returns 0, or -1 when out of memory. */
int berth_task_set(struct berth_strvec *list, struct berth_err *err);

/* Join the container of the rendezvous, which is READY, and become the command; if
 * the step is only explained, check whether that would succeed. Returns only on
 * failure, or for such a step: the exit status (-1: BERTH_REFUSED). If the status is
 * not 0, ERR has the sentence. */
int berth_joined_become(const struct berth_task *task,
                        const struct berth_rendezvous *rendezvous,
                        struct berth_err *err);

/* Read the order, join the container that another task has started, and become the
 * command in ARGV; if there is more to do, become berth-start. That is another program,
 * which reads the same order from the environment again: only one task of a node pays
 * for that, with less than the exec itself costs. Returns as berth_joined_become(). */
int berth_task_run(struct berth_task *task, char **argv, struct berth_err *err);

/* The same for a task whose order is set: only berth-start gets it in the environment.
 */
int berth_task_run_order(struct berth_task *task, char **argv, struct berth_err *err);

/* Returns the rendezvous of the order; its memory is not mapped yet. */
struct berth_rendezvous berth_task_rendezvous(const struct berth_task *task);

/* If STATUS is not 0 and ERR is not "", print ERR once for the step on this node, with
 * the site's spelling of options. Returns the exit status of the process: STATUS, or
 * BERTH_REFUSED for -1. */
int berth_task_end(const struct berth_task *task, int status, struct berth_err *err);
