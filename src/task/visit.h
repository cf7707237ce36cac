/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_TASK_VISIT_H
#define BERTH_TASK_VISIT_H

#include "base/buf.h"
#include "base/err.h"

/* A look into an image from a process of the host, as the tasks of a step see it. */
struct berth_visit {
    const char *runtime;  /* path */
    const char *image;    /* path */
    unsigned int seconds; /* that the container may take to start */
    /* What is done in the container, in a process of its own with the container's
     * environment; nothing of the image runs but what this starts. It appends to OUT,
     * and returns 0, or -1 with a sentence in ERR. */
    int (*look)(void *told, struct berth_buf *out, struct berth_err *err);
    void *told;
};

/* Start a container in a user namespace, look, and end it. Returns 0 with what was
 * appended to RET; -1 with a sentence in ERR, of the runtime too when it refuses. */
int berth_visit(const struct berth_visit *visit, struct berth_buf *ret,
                struct berth_err *err);

#endif
