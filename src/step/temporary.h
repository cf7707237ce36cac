/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"
#include "plan/launch.h"
#include "step/namespaces.h"

/* An inspection of an image, as the tasks of a step see it. */
struct berth_temporary_inspection {
    const char *runtime;  /* path */
    const char *image;    /* path */
    unsigned int seconds; /* that the start of the container may take */
    /* Called in the container, in a child with the container's environment. Appends to
     * OUT, and returns 0, or -1 with a sentence in ERR. No other program of the image
     * runs. */
    int (*inside)(void *data, struct berth_buf *out, struct berth_err *err);
    void *data;
};

/* Start a temporary container in a user namespace, inspect the image, and end the
 * container. Returns 0 with what INSIDE has appended in RET; -1 with a sentence in ERR,
 * also if the runtime fails. */
int berth_temporary_inspect(const struct berth_temporary_inspection *look,
                            struct berth_buf *ret, struct berth_err *err);

/* A container that no task joins. Borrows everything. */
struct berth_temporary {
    const struct berth_launch *launch; /* its request must ask for a user namespace */
    const sigset_t *mask; /* the signal mask of the runtime; NULL: the caller's */
    unsigned int seconds; /* that the start may take */
    struct berth_deadline *deadline; /* what is left of them */
    /* Called in the calling process when the container runs: HOLDER is berth-init,
     * VARIABLES its environment. */
    int (*run)(void *data, struct berth_holder holder,
               const struct berth_buf *variables, struct berth_err *err);
    void *data;
};

/* Start the container, call RUN, and end the container. Returns the result of RUN, or
 * -1 with a sentence in ERR. */
int berth_temporary(const struct berth_temporary *it, struct berth_err *err);
