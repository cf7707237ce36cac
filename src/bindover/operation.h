/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"

/* What is to be done in a container so that libraries of the host replace those of the
 * image: a list that is made first, tried in a mount namespace of its own
 * (bindover/trial.h), and then done once in the container. */

enum berth_operation_kind {
    BERTH_OPERATION_MOUNT, /* WHAT, a file or a directory, over OVER */
    BERTH_OPERATION_SET,   /* the variable WHAT, NAME=VALUE */
};

struct berth_replacement;

struct berth_operation {
    enum berth_operation_kind kind;
    char *what;
    char *over;                            /* of MOUNT; else NULL */
    const struct berth_replacement *cause; /* whose part it is; borrowed */
};

/* Starts as {0}. Out of memory sets `failed`, which berth_operations_do() reports. */
struct berth_operations {
    struct berth_operation *items;
    size_t count, room;
    bool failed;
};

/* Append the mount of WHAT over OVER, unless the list has it. */
void berth_operations_mount(struct berth_operations *operations, const char *what,
                            const char *over, const struct berth_replacement *cause);

/* Append the variable WHAT. */
void berth_operations_set(struct berth_operations *operations, const char *what,
                          const struct berth_replacement *cause);

/* Append the mounts PAIRS (what, over, what, ...), and the variables SET. */
void berth_operations_add(struct berth_operations *operations,
                          const struct berth_strvec *pairs,
                          const struct berth_strvec *set,
                          const struct berth_replacement *cause);

/* Do the operations from number FIRST on, in the mount namespace and the environment of
 * the process, which owns that namespace. Returns 0, or -1 with a sentence in ERR. */
int berth_operations_do(const struct berth_operations *operations, size_t first,
                        struct berth_err *err);

/* Remove all but the first COUNT. */
void berth_operations_cut(struct berth_operations *operations, size_t count);

void berth_operations_fini(struct berth_operations *operations);
