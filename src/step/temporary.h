/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

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
