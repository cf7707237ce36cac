/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"
#include "request/mount.h"

/* The mounts and the variables of a container, each with its source and its reason. The
 * command line of the runtime and the environment of the command are made from it, and
 * explain prints it. */

/* The sources. */
#define BERTH_FROM_USER    "user"    /* an option of berth */
#define BERTH_FROM_SITE    "site"    /* the administrators */
#define BERTH_FROM_NODE    "node"    /* directories of the node that tasks expect */
#define BERTH_FROM_BERTH   "berth"   /* berth itself */
#define BERTH_FROM_RUNTIME "runtime" /* the container runtime */
#define BERTH_FROM_IMAGE   "image"   /* the image */
#define BERTH_FROM_MPI     "mpi"     /* what the host's MPI needs */
#define BERTH_FROM_CAPTURE "capture" /* the environment of srun, despite --export */
#define BERTH_FROM_PYTORCH "pytorch" /* plan/pytorch.h */

/* A mount, or a variable. Owns its texts, except `from`. */
struct berth_plan_item {
    union {
        char *source; /* of a mount: on the node */
        char *name;   /* of a variable */
    };
    union {
        char *destination; /* of a mount: in the container */
        char *value;       /* of a variable; NULL: it is removed */
    };
    enum berth_mount_mode mode; /* of a mount */
    char *flags;                /* of a mount (request/mount.h); NULL: none */
    const char *from;           /* BERTH_FROM_... */
    char *why;
};

struct berth_plan_list {
    struct berth_plan_item *items;
    size_t count, room;
};

/* Start with `= {0}`, end with berth_plan_fini(). */
struct berth_plan {
    struct berth_plan_list mounts;    /* in the order in which they are made */
    struct berth_plan_list variables; /* a later one wins over an earlier one */
    bool failed;                      /* out of memory */
};

/* Add a mount with copies of its texts except FROM, and DESTINATION clean. Of two
 * mounts on one place the later one counts, wherever they are from: it replaces the
 * earlier one. A mount comes before those on places in its directory, which it would
 * hide. Out of memory sticks in PLAN. */
void berth_plan_mount(struct berth_plan *plan, const char *source,
                      const char *destination, enum berth_mount_mode mode,
                      const char *from, const char *why);

/* Append a variable with copies of its texts except FROM. Out of memory sticks in PLAN.
 */
void berth_plan_variable(struct berth_plan *plan, const char *name, const char *value,
                         const char *from, const char *why);

/* Add each mount of LIST, in full form (request/mount.h). Returns 0, or -1 with a
 * sentence in ERR if one cannot be parsed. */
int berth_plan_mounts(struct berth_plan *plan, const struct berth_strvec *list,
                      const char *from, const char *why, struct berth_err *err);

/* Append each NAME=VALUE of LIST, and each NAME as removed. FROM is BERTH_FROM_RUNTIME:
 * only what the container runtime sets in each image; or BERTH_FROM_IMAGE: only the
 * rest; else all of them. */
void berth_plan_set(struct berth_plan *plan, const struct berth_strvec *list,
                    const char *from, const char *why);

void berth_plan_fini(struct berth_plan *plan);

#define BERTH_PLAN __attribute__((cleanup(berth_plan_fini)))
