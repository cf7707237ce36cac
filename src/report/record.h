/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"
#include "plan/order.h"

/* What was seen of the ranks of a node (witness/witness.h). */
struct berth_record_witnessed {
    const char *host;    /* the host's MPI, for people */
    unsigned int ranks;  /* of the component on the node */
    unsigned int loaded; /* have loaded it */
    unsigned int other;  /* ran with another MPI; no MPI was seen in the rest */
    const char *fabric; /* under the image's own MPI, for people: `loaded` is of this */
    bool has_network;   /* it was looked for */
    unsigned int device; /* have a device of the network open */
    unsigned int tcp;    /* use TCP between nodes */
};

/* What the programs that serve the image of a node took while tasks ran. */
struct berth_record_served {
    long cpu_ms;  /* of processor time, */
    long wall_ms; /* in this time */
    long kib;     /* of memory, at its end */
};

/* The record of a component of a step, or of a container of its --multi-prog file
 * (provenance in berth.yaml): which image ran, how,
 * and on whose MPI; or, in a line of its own for each node, what was seen
 * while it ran. Borrows everything; NULL: not known. */
struct berth_record {
    time_t time;
    char *const *environment; /* of the task: user, job, step, cluster */
    const char *user;         /* if the environment does not tell it */
    const char *node;
    struct berth_order_step step;
    const struct berth_request *request;
    const struct berth_strvec *image; /* name, value, ... (berth_image_describe()) */
    unsigned int digest_limit; /* seconds that the digest may take; 0: the site wants
                                  none */
    const char *digest;        /* "sha256:..." of the image's file */
    const char *runtime;
    const char *runtime_version;
    const char *note; /* whose MPI runs, and why */
    const char
        *apart; /* why each task has a container of its own; NULL: tasks share one */
    /* One of these in a line that is not that of the start. */
    const struct berth_record_witnessed *witnessed;
    const struct berth_record_served *served;
};

/* The record as one line of JSON with its newline, appended to LINE. */
int berth_record_write(const struct berth_record *record, struct berth_buf *line,
                       struct berth_err *err);

/* The file that PATTERN names for the record: %u is the user, %j the job, %% a percent
 * sign. On success the caller frees *RET_PATH. */
int berth_record_path(const struct berth_record *record, const char *pattern,
                      char **ret_path, struct berth_err *err);
