/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"
#include "plan/order.h"
#include "report/binding.h"
#include "step/rendezvous.h"

/* What the plugin said, and what is known of this task. */
struct berth_task {
    struct berth_order order;
    char *node;
    char *runtime; /* the site's, or the one that was found; NULL: find one */
    char *directory;
    char *home;  /* the user's, in the user database; NULL: not known */
    char *place; /* node and image, in messages */
    char **command;
    char **environment;           /* as Slurm has made it */
    struct berth_strvec mounts;   /* ours */
    struct berth_strvec fabric;   /* the same, of the host's MPI */
    struct berth_binding binding; /* the answer of --mpi-bind for the node */
    struct berth_buf account;     /* printed in the end, where one is asked for */
};

/* Reads the order out of the environment; the command is in ARGV. */
int berth_task_read(struct berth_task *task, char **argv, struct berth_err *err);

/* With --mpi-bind=local: an mpirun in this task is to know nothing of Slurm, nor of its
 * process manager. */
int berth_task_hide_launcher(struct berth_task *task, struct berth_err *err);

/* Says ERR where the user sees it. */
void berth_task_fail(const struct berth_task *task, struct berth_err *err);

/* Where the task meets the others, as the order says; not mapped. */
struct berth_rendezvous berth_task_rendezvous(const struct berth_task *task);

/* Says ERR, if STATUS is not 0 and ERR is not "". Returns what the process ends with:
 * STATUS, or BERTH_REFUSED for -1. */
int berth_task_end(const struct berth_task *task, int status, struct berth_err *err);
