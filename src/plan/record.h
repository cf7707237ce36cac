/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"
#include "plan/order.h"

/* What the witness saw of the ranks of a node (bindover/witness.h). */
struct berth_record_witnessed {
    const char *host;    /* the host's MPI, for people */
    unsigned int ranks;  /* the number of ranks of the component on the node */
    unsigned int loaded; /* the number of ranks that have loaded `host` or `fabric` */
    unsigned int
        other; /* the number that ran with another MPI; the rest showed no MPI */
    const char *fabric; /* the host's network libraries under the image's own MPI, for
                           people; NULL: none */
};

/* The record of a component of a step, or of a container of its --multi-prog file
 * (provenance in berth.yaml). The line of the start says which image ran, how, and with
 * whose MPI. Further lines, per node, say what was seen while it ran. Borrows
 * everything; NULL: not known. */
struct berth_record {
    time_t time;
    char *const *environment; /* of the task; names user, job, step and cluster */
    const char *user;         /* used if the environment does not name the user */
    const char *node;
    const struct berth_order *order;  /* has the step, and the request */
    const struct berth_strvec *image; /* name, value, ... (berth_image_describe()) */
    const char *runtime;
    const char *runtime_version;
    const char *note; /* whose MPI runs, and why */
    const char
        *separate; /* why each task has its own container; NULL: tasks share one */
    const struct berth_record_witnessed *witnessed; /* NULL: the line of the start */
};

/* Append the record to LINE as one line of JSON with a newline. Returns 0, or -1 when
 * out of memory. */
int berth_record_write(const struct berth_record *record, struct berth_buf *line,
                       struct berth_err *err);

/* Make the path of the record's file from the pattern of the order: %u is the user, %j
 * the job, %% a percent sign. Returns 0, and the caller frees *RET_PATH; or -1 when out
 * of memory. */
int berth_record_path(const struct berth_record *record, char **ret_path,
                      struct berth_err *err);
