/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/strvec.h"
#include "mpi/reach.h"
#include "request/request.h"
#include "site/terms.h"
#include "bindover/stack.h"
#include "bindover/factcache.h"
#include "container/namespaces.h"

/* The inputs of the process that enters the container. Borrows everything. */
struct berth_decide {
    struct berth_holder holder; /* of the namespaces */
    const struct berth_request *request;
    const struct berth_terms *terms;     /* of the site; NULL: none */
    char *const *command;                /* as the image runs it, ended by NULL */
    const struct berth_strvec *programs; /* of the tasks, if these differ (srun
                                            --multi-prog); NULL: that of COMMAND */
    const char *directory;               /* of the task on the host; NULL: gone */
    const char *image_directory;         /* as in struct berth_become */
    bool prefers_image;
    char *const *task; /* the environment of the task, ended by NULL */
    const struct berth_profile
        *profiles; /* for the stacks that may be used, as berth_profiles */
    const struct berth_stacks *stacks;   /* of the host: its MPIs, and its fabrics and
                                            libraries that are asked for */
    struct berth_factcache *host_cache;  /* facts about the host's files */
    struct berth_factcache *image_cache; /* and the image's; NULL: none */
    const char *variable; /* NAME=VALUE that the tasks need with any MPI; NULL: none */
    struct berth_mpi_reach reach;
    bool is_root; /* in the container the tasks are root in a user namespace */
    int channel;  /* to berth-mpi (ipc/channel.h), for questions and the answer */
};

struct berth_program;

/* Finds for RET, whose ITEMS are set, the program that COMMAND (ends in NULL) starts.
 * In the place of the first argument comes the one with MPI that the others name, or
 * that starts ranks. Else, in the place of one that can load no MPI comes the first
 * that can, and the other way round if all that are named cannot. Returns 0, or -1 with
 * a sentence in ERR. */
int berth_decide_find(const struct berth_decide *inside, char *const *command,
                      struct berth_program *ret, struct berth_err *err);

/* Enters the container as the owner of its namespaces, scans the programs, mounts the
 * staged libraries of the host's MPI over those of the image, lets the image's own
 * loader confirm that they will run, and answers at CHANNEL: a binding, or a refusal.
 * The environment of the process is that of the container. The process must end when
 * this returns. */
void berth_decide_run(const struct berth_decide *inside);
