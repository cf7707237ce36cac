/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "plan/gpu.h"
#include "plan/order.h"
#include "request/request.h"
#include "site/terms.h"

/* A container, its runtime and what is to run in it. Borrows everything. */
struct berth_launch {
    const struct berth_order *order;     /* from which this comes; NULL: none */
    const char *runtime;                 /* absolute path of singularity or apptainer */
    const char *home;                    /* $HOME of the task; NULL: not set */
    const char *directory;               /* working directory of the task; NULL: gone */
    const char *node;                    /* how messages name the node */
    const struct berth_request *request; /* contained */
    const struct berth_terms *terms;     /* of the site; NULL: none */
    const struct berth_strvec *mounts;   /* ours: each SRC:DST:ro|rw; NULL: none */
    const struct berth_strvec *fabric;   /* the same, of policy/fabric.h */
    struct berth_gpu_choice gpu;
    char *const *environment; /* of the task, for NAME of --container-env */
    char *const *command;     /* the user's words, ended by NULL */
    bool unknown_user;        /* the node does not know who the user is */
    const char *account_home; /* what it knows as the user's home; NULL: nothing */
    bool is_outer;            /* the runtime is root in the outer user namespace of
                                 step/outer.h */
};

/* The words that start the runtime, which starts berth-init, by its path INIT, in the
 * image, which reads its own words in descriptor HANDOVER (step/handover.h). BINDS is
 * what of the host's MPI is mounted over files of the image: host path, path in the
 * image, ... Appends to ARGV. */
int berth_launch_argv(const struct berth_launch *launch,
                      const struct berth_strvec *binds, const char *init, int handover,
                      struct berth_strvec *argv, struct berth_err *err);

/* What berth-init is to know besides in the container of one task. Borrows everything.
 */
struct berth_launch_init {
    const char *place;              /* how messages name node and image */
    const char *prefix;             /* the site's option_prefix, for messages */
    const char *limits;             /* of step/limits.h */
    const struct berth_strvec *set; /* NAME=VALUE, over the image's */
    int report;                     /* descriptor for berth_report(); -1: none */
    int watcher;                    /* descriptor of supervise/watcher.h */
    int task_stderr;                /* standard error of the task */
    int programs;    /* the directory of supervise/hostcommand.h, -1: none; */
    int environment; /* and memory for the environment of the task */
};

/* The words of berth-init, which becomes the user's command, or only tries to, if the
 * request is to be explained. */
int berth_launch_init_argv(const struct berth_launch *launch,
                           const struct berth_launch_init *init,
                           struct berth_strvec *argv, struct berth_err *err);

/* The words that start the runtime with berth-init as the holder of a container that
 * tasks join: it ends at end of file on descriptor TASKS, and tells its environment on
 * READY. INNER is the user namespace that it goes on to; -1: none. */
int berth_launch_holder_argv(const struct berth_launch *launch, const char *init,
                             int tasks, int ready, int inner, struct berth_strvec *argv,
                             struct berth_err *err);

/* The same without the runtime: the words of berth-init, where it is started in a
 * container that is there. */
void berth_launch_hold(const char *init, int tasks, int ready, int inner,
                       struct berth_strvec *argv);

/* Settings of MPI libraries for tasks that each have a user namespace of their own, and
 * so cannot read each other's memory: appends NAME=VALUE to SET, unless the task has
 * the variable. (openucx issues 4224 and 8958, pull request 9213; Open MPI issue 4948,
 * pull requests 6997 and 6998.) */
void berth_launch_apart(char *const *environment, struct berth_strvec *set);

/* Appends to RET the directories of the host that Slurm's process manager shares with
 * the tasks; they are mounted at the same place. */
void berth_launch_manager_places(const struct berth_request *request,
                                 char *const *environment, struct berth_strvec *ret);

/* COMMAND as the image runs it: with its runscript in front if that is asked for. */
void berth_launch_command(const struct berth_request *request, char *const *command,
                          struct berth_strvec *argv);

/* What the request and the terms (NULL: none) change in the environment of the
 * command, in this order: a NAME that is to be unset, NAME=VALUE that is to be set
 * (putenv(3)). ENVIRONMENT is the task's, for NAME of --container-env. */
void berth_launch_env(const struct berth_request *request,
                      const struct berth_terms *terms, char *const *environment,
                      struct berth_strvec *env);
