/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/strvec.h"
#include "mpi/reach.h"
#include "request/request.h"
#include "site/terms.h"
#include "bindover/stack.h"
#include "step/factcache.h"
#include "step/namespaces.h"

/* The inputs of the process that enters the container. Borrows everything. */
struct berth_inside {
    struct berth_holder holder; /* of the namespaces */
    const struct berth_request *request;
    const struct berth_terms *terms;     /* of the site; NULL: none */
    char *const *command;                /* as the image runs it, ended by NULL */
    const struct berth_strvec *programs; /* of the tasks, if these differ (srun
                                            --multi-prog); NULL: that of COMMAND */
    const char *directory;               /* of the task on the host; NULL: gone */
    char *const *task; /* the environment of the task, ended by NULL */
    const struct berth_profile
        *profiles; /* for the stacks that may be used, as berth_profiles */
    const struct berth_stacks *stacks;   /* of the host: its MPIs, and its fabrics and
                                            libraries that are asked for */
    struct berth_factcache *host_cache;  /* facts about the host's files */
    struct berth_factcache *image_cache; /* and the image's; NULL: none */
    const char *variable; /* NAME=VALUE that the tasks need with any MPI; NULL: none */
    struct berth_mpi_reach reach;
    int channel; /* to berth-mpi (step/channel.h), for questions and the answer */
};

/* Enters the container as the owner of its namespaces, scans the programs, mounts the
 * staged libraries of the host's MPI over those of the image, lets the image's own
 * loader confirm that they will run, and answers at CHANNEL: a binding, or a refusal.
 * The environment of the process is that of the container. The process must end when
 * this returns. */
void berth_inside_run(const struct berth_inside *inside);

/* Enters the container of INSIDE as the owner of its namespaces, in the working
 * directory and with the variables that the application will have. Before the call the
 * environment of the process is that of the container. Returns 0, or -1 with a sentence
 * in ERR. */
int berth_enter(const struct berth_inside *inside, struct berth_err *err);

/* The path of the program that COMMAND (ends in NULL) finally starts, if its words show
 * that (berth_command_program()), or else of COMMAND's own file, in the root of this
 * process. NULL: there is no such file that can be executed. The caller frees it. */
char *berth_enter_find(char *const *command);

/* Finds the program that COMMAND (ends in NULL) finally starts, from its words alone:
 * PROGRAM of `env A=b PROGRAM`, `taskset -c 0 PROGRAM`, `sh -c 'exec PROGRAM ...'`,
 * `ld.so PROGRAM`. Returns its name or path, which the caller frees. Returns NULL if
 * COMMAND starts no other program; if its words do not show which one (loops,
 * variables, several programs); if it changes where libraries are found; and out of
 * memory. */
char *berth_command_program(char *const *command);
