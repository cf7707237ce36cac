/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "plan/explain.h"
#include "plan/launch.h"
#include "plan/order.h"
#include "plan/binding.h"
#include "step/rendezvous.h"

/* A task: its order, and what else is known of it. */
struct berth_task {
    struct berth_order order;
    char *node;
    char *runtime; /* the path of the site, or of the runtime that was found; NULL: find
                      one */
    char *directory;
    char *home;  /* the user's, in the user database; NULL: not known */
    char *place; /* node and image, in messages */
    char **command;
    char **environment;         /* as Slurm has made it */
    struct berth_strvec mounts; /* to mount for berth, as SRC:DST:ro */
    struct berth_strvec
        fabric; /* to mount for the host's MPI and devices, as SRC:DST:ro|rw */
    struct berth_launch launch;   /* how the container is started; .order is NULL
                                     before run/prepare.h has found it out */
    struct berth_binding binding; /* the answer of --mpi-bind for the node */
    struct berth_explain account; /* printed at the end; its request is NULL if this
                                     task prints none */
};

/* Read the order, and remove it from the environment; the command is in ARGV, and TASK
 * borrows it. Returns 0, or -1 with a sentence in ERR. */
int berth_task_read(struct berth_task *task, char **argv, struct berth_err *err);

/* With --mpi-bind=local or launch: hide the step and its process manager from an mpirun
 * in this task; with launch it still sees the job. Changes environ. Returns 0, or -1
 * with a sentence in ERR. */
int berth_task_hide_launcher(struct berth_task *task, struct berth_err *err);

/* Refuse --mpi-bind=launch, whose mpirun starts daemons with srun, if the image gets no
 * srun, WHY (NULL: it gets one). Returns 0, or -1 with a sentence in ERR. */
int berth_task_check_launch(const struct berth_task *task, const char *why,
                            struct berth_err *err);

/* Returns the rendezvous of the order; its memory is not mapped yet. */
struct berth_rendezvous berth_task_rendezvous(const struct berth_task *task);

/* If STATUS is not 0 and ERR is not "", print ERR once for the step on this node, with
 * the site's spelling of options. Returns the exit status of the process: STATUS, or
 * BERTH_REFUSED for -1. */
int berth_task_end(const struct berth_task *task, int status, struct berth_err *err);
