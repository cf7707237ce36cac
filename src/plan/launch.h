/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_PLAN_LAUNCH_H
#define BERTH_PLAN_LAUNCH_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "request/request.h"
#include "site/terms.h"

/* The facts from which the runtime's command line is made, when a task starts its
 * container. Borrows everything. */
struct berth_launch {
    const char *runtime;                 /* absolute path of singularity or apptainer */
    const char *init;                    /* path of berth-init, valid in the image */
    const char *home;                    /* $HOME of the task; NULL: not set */
    const char *directory;               /* working directory of the task; NULL: gone */
    const char *node;                    /* how messages name the node */
    const char *place;                   /* how messages name node and image */
    const char *prefix;                  /* the site's option_prefix, for messages */
    int report;                          /* descriptor for berth_report(); -1: none */
    int guard;                           /* descriptor of launch/guard.h; -1: none */
    int said;                            /* standard error of the task; -1: as it is */
    const struct berth_request *request; /* contained */
    const struct berth_terms *terms;     /* of the site; NULL: none */
    const struct berth_strvec *mounts;   /* ours: each SRC:DST:ro|rw; NULL: none */
    const struct berth_strvec *fabric;   /* the same, of policy/fabric.h */
    const struct berth_strvec *binds;    /* the host's MPI over files of the image: host
                                            path, path in the image, ...; NULL: none */
    const char *gpu;                     /* flag for its GPU driver; NULL: none */
    const char *gpu_because;             /* for people; NULL: not looked at */
    const struct berth_strvec *set;      /* NAME=VALUE, over the image's; NULL: none */
    char *const *environment;            /* of the task, for NAME of --container-env */
    char *const *command;                /* the user's words, ended by NULL */
    const char *programs;                /* of all tasks of the step, each a line, where
                                            these differ; NULL: that of the command */
    const char *limits;                  /* of step/limits.h; NULL: none */
    const char *step;                    /* BERTH_TASK_EXPLAIN; NULL: not told */
    const char *record;                  /* BERTH_TASK_RECORD; NULL: none is kept */
    bool unknown_user;                   /* the node does not know who the user is */
};

/* The words that start the runtime, which starts berth-init in the image, which reads
 * its own words in descriptor HANDOVER (step/handover.h). Appends to ARGV. Returns 0,
 * or -1 when out of memory. */
int berth_launch_argv(const struct berth_launch *launch, int handover,
                      struct berth_strvec *argv, struct berth_err *err);

/* The words of berth-init, which becomes the user's command, or only tries to, if the
 * request is to be explained. */
int berth_launch_init_argv(const struct berth_launch *launch, struct berth_strvec *argv,
                           struct berth_err *err);

/* The words that start the runtime with berth-init as the holder of a container that
 * tasks join: it ends at end of file on descriptor TASKS, and tells its environment on
 * READY. */
int berth_launch_holder_argv(const struct berth_launch *launch, int tasks, int ready,
                             struct berth_strvec *argv, struct berth_err *err);

/* Settings of MPI libraries for tasks that each have a user namespace of their own, and
 * so cannot read each other's memory: appends NAME=VALUE to SET, unless the task has
 * the variable. Nothing under --mpi-bind=off. (openucx issues 4224 and 8958, pull
 * request 9213; Open MPI issue 4948, pull requests 6997 and 6998.) */
void berth_launch_apart(const struct berth_launch *launch, struct berth_strvec *set);

/* Appends to RET the directories of the host that Slurm's process manager shares with
 * the tasks; they are mounted at the same place. */
void berth_launch_manager_places(const struct berth_launch *launch,
                                 struct berth_strvec *ret);

/* The user's command as the image runs it (with its runscript in front if that is asked
 * for); and what the request and the terms change in its environment, in this order: a
 * NAME that is to be unset, NAME=VALUE that is to be set (putenv(3)). */
void berth_launch_command(const struct berth_launch *launch, struct berth_strvec *argv);
void berth_launch_env(const struct berth_launch *launch, struct berth_strvec *env);

#endif
