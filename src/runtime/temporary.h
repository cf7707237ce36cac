/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"
#include "plan/launch.h"

/* Inspects an image from a process of the host, as the tasks of a step see it. */
struct berth_temporary_inspection {
    const char *runtime;  /* path */
    const char *image;    /* path */
    unsigned int seconds; /* that the container may take to start */
    /* Called in the container, in its own process with the container's environment.
     * Appends to OUT, and returns 0, or -1 with a sentence in ERR. Nothing of the image
     * runs but what this starts. */
    int (*inside)(void *data, struct berth_buf *out, struct berth_err *err);
    void *data;
};

/* Start a temporary container in a user namespace, inspect the image, and end it.
 * Returns 0 with what was appended to RET; -1 with a sentence in ERR, of the runtime
 * too when it refuses. */
int berth_temporary_inspect(const struct berth_temporary_inspection *look,
                            struct berth_buf *ret, struct berth_err *err);

/* A container that no task is to join. Borrows everything. */
struct berth_temporary {
    const struct berth_launch *launch; /* its request asks for a user namespace */
    const sigset_t *mask;            /* of the runtime's signals; NULL: the caller's */
    unsigned int seconds;            /* that it may take to start, */
    struct berth_deadline *deadline; /* and what is left of them */
    /* What is done when it is there, in this process: HOLDER is berth-init, VARIABLES
     * its environment. */
    int (*run)(void *data, pid_t holder, const struct berth_buf *variables,
               struct berth_err *err);
    void *data;
};

/* Starts the container, calls RUN and ends the container. */
int berth_temporary(const struct berth_temporary *it, struct berth_err *err);
