/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/deadline.h"
#include "base/err.h"
#include "base/strvec.h"
#include "plan/launch.h"
#include "container/namespaces.h"

/* A step asks the job's server on its node for a container. */

/* Borrows everything. */
struct berth_job_question {
    const struct berth_launch *launch; /* of the step; its order has the job */
    bool own_directory; /* ask for a container that was started in the same working
                           directory */
    int tasks;          /* as in struct berth_start */
    struct berth_deadline *deadline;
};

/* The answer: a container of the job. */
struct berth_job_answer {
    int end;  /* a descriptor at end of file: the container has ended */
    int user; /* of a container with a name: the server sees by its end that the step
                 has ended; -1: the container has none */
    struct berth_holder holder;
    struct berth_strvec changes; /* of its runtime (plan/envdiff.h) */
    struct berth_strvec after;   /* the environment of its holder */
};

/* Ask the job's server, and wait for the answer. Returns 0 with *RET_ANSWER, which the
 * caller owns (berth_job_answer_fini); -1 with a sentence in ERR that says why the step
 * needs a container of its own. */
int berth_job_ask(const struct berth_job_question *question,
                  struct berth_job_answer *ret_answer, struct berth_err *err);

/* Ask the job's server for the image of the container with the name of the request,
 * which leaves it out. Returns 0 with a path and a URI (NULL: none), which the caller
 * owns; -1 with a sentence in ERR. */
int berth_job_find_image(const struct berth_job_question *question, char **ret_image,
                         char **ret_uri, struct berth_err *err);

/* Does the job have a server on this node? Returns 0, or -1 with a sentence in ERR. */
int berth_job_check(const struct berth_launch *launch, struct berth_err *err);

void berth_job_answer_fini(struct berth_job_answer *answer);
