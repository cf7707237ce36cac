/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"
#include "plan/order.h"
#include "plan/binding.h"
#include "request/mount.h"
#include "request/request.h"

/* The account of a launch: what berth would do for one component, and why
 * (--container-explain, `berth explain`); as data, as text and as JSON.
 * doc/internals.md describes it for users. */

/* The sources of what is in an account. */
#define BERTH_FROM_USER    "user"    /* an option of berth */
#define BERTH_FROM_SITE    "site"    /* the administrators */
#define BERTH_FROM_BERTH   "berth"   /* berth itself */
#define BERTH_FROM_RUNTIME "runtime" /* the container runtime */
#define BERTH_FROM_IMAGE   "image"   /* the image */
#define BERTH_FROM_MPI     "mpi"     /* what the host's MPI needs */
#define BERTH_FROM_CAPTURE "capture" /* the environment of srun, despite --export */

struct berth_explain_mount {
    char *source;      /* on the node */
    char *destination; /* in the container */
    enum berth_mount_mode mode;
    const char *from; /* BERTH_FROM_... */
    const char *why;
};

struct berth_explain_variable {
    char *name;
    char *value; /* NULL: the variable is removed */
    const char *from;
    char *why;
};

/* Owns its lists, its binding and texts of type `char *`; borrows the rest. A value
 * struct: start with `= {0}`, end with berth_explain_fini(). */
struct berth_explain {
    struct berth_order_step step;
    const char *rank; /* in the step, of the task that writes it; NULL: not known */
    const char *node;
    const struct berth_request *request;
    char *const *command;
    struct berth_strvec image; /* name, value, ...: kind, machine, size, ... */
    const char *runtime;
    char *runtime_version;     /* NULL: not known */
    struct berth_strvec words; /* that start the runtime */
    const char *gpu;           /* the runtime's flag for a GPU driver; NULL: none */
    const char *gpu_because;   /* the reason; NULL: not known */
    char *apart; /* why each task has its own container; NULL: the tasks of
                    a node share one */
    const char *lifetime_from;  /* who set --container-lifetime: BERTH_FROM_USER or
                                   _SITE; NULL: nobody */
    const char *inside;         /* as berth_order_inside() */
    const char *why_step;       /* as berth_order_why_step() */
    struct berth_err no_server; /* why the job cannot keep the container */
    const char *mode_from;      /* who set --mpi-bind: BERTH_FROM_USER or _SITE */
    const char *manager;        /* SLURM_MPI_TYPE; NULL: not known */
    struct berth_binding binding;
    struct berth_explain_mount *mounts;
    size_t mount_count, mount_room;
    struct berth_explain_variable *variables; /* a later one wins over an earlier one */
    size_t variable_count, variable_room;
    bool failed; /* out of memory */
};

/* Append a mount or a variable, with copies of its texts except FROM and the WHY of a
 * mount, which are borrowed. Out of memory sticks in EXPLAIN. */
void berth_explain_add_mount(struct berth_explain *explain, const char *source,
                             const char *destination, enum berth_mount_mode mode,
                             const char *from, const char *why);
void berth_explain_add_variable(struct berth_explain *explain, const char *name,
                                const char *value, const char *from, const char *why);

/* The same for each NAME=VALUE of LIST. */
void berth_explain_add_set(struct berth_explain *explain,
                           const struct berth_strvec *list, const char *from,
                           const char *why);

/* Append the variables that change from BEFORE to AFTER, both ended by NULL: all of
 * them, or those that the container runtime sets in each image, or the rest. */
enum berth_explain_part {
    BERTH_EXPLAIN_ALL,
    BERTH_EXPLAIN_RUNTIME,
    BERTH_EXPLAIN_REST
};
void berth_explain_add_change(struct berth_explain *explain, char *const *before,
                              char *const *after, enum berth_explain_part part,
                              const char *from, const char *why);

/* The text of the first fact NAME; NULL: there is none. */
const char *berth_explain_fact(const struct berth_explain *explain, const char *name);

/* The text of the first fact NAME from the index *AT on; NULL: there is none. Moves *AT
 * behind the fact, or to the end. */
const char *berth_explain_next_fact(const struct berth_explain *explain,
                                    const char *name, size_t *at);

/* The lifetime of the container: BERTH_LIFETIME_... */
static inline const char *berth_explain_lifetime(const struct berth_explain *explain)
{
    return berth_request_has_job_lifetime(explain->request) && !explain->why_step
               ? BERTH_LIFETIME_JOB
               : BERTH_LIFETIME_STEP;
}

/* Append to RET a sentence that says whose MPI runs. Out of memory sticks in RET. */
void berth_explain_mpi(const struct berth_explain *explain, struct berth_buf *ret);

/* Append the account to RET: for people as a summary of three lines, and then the
 * details; for programs as one JSON object. Both end in a newline. In a step of several
 * components each line starts with the number of the component, a colon and a blank;
 * with
 * --multi-prog with the rank of the task that writes the account. Out of memory sticks
 * in RET. */
void berth_explain_text(const struct berth_explain *explain, struct berth_buf *ret);
void berth_explain_json(const struct berth_explain *explain, struct berth_buf *ret);

/* Append the account to RET as text or as JSON, as the request asks. Returns 0, or -1
 * when out of memory. */
int berth_explain_write(const struct berth_explain *explain, struct berth_buf *ret,
                        struct berth_err *err);

void berth_explain_fini(struct berth_explain *explain);
