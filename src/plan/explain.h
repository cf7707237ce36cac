/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"
#include "plan/binding.h"
#include "plan/launch.h"
#include "plan/plan.h"
#include "request/request.h"

/* What berth would do for one component, and why (--container-explain, `berth
 * explain`): in about twelve lines, with all details, or as JSON. */

/* A directory of the host that people look for in a container. */
struct berth_explain_place {
    const char *what; /* "home"; NULL: the path says it */
    const char *path;
    unsigned long long device, inode; /* on the host; 0: it is not there */
    const char *in; /* "host", "container" or "absent"; NULL: not known */
};

enum { BERTH_EXPLAIN_PLACES = 5 };

/* Owns its lists, its plan and texts of type `char *`; borrows the rest. The process
 * that prints it ends then, so nothing frees it. Start with `= {0}`. */
struct berth_explain {
    const struct berth_launch *launch; /* of the task; without a container only its
                                          order, node and command count */
    const struct berth_binding *binding;
    const char *rank;     /* in the step, of the task that writes it; NULL: not known */
    const char *separate; /* why each task has its own container; NULL: the tasks
                          of a node share one */
    struct berth_err no_server; /* why the job cannot keep the container, though its
                                   order allows it; "": it can */
    char *starts_in;            /* the directory in the container where the command
                                   starts, if it is not that of srun; NULL: it is, or it
                                   is not known */
    char *found;                /* the command, as it was found in the container; NULL:
                                   not known */
    struct berth_strvec image;  /* name, value, ...: kind, machine, size, ... */
    char *runtime_version;      /* NULL: not known */
    struct berth_strvec words;  /* that start the runtime */
    struct berth_plan plan;
    struct berth_explain_place places[BERTH_EXPLAIN_PLACES]; /* all with a path */
};

/* Why the container ends with the step, though the request asks for the lifetime of the
 * job; NULL: it does not, or the request does not. */
const char *berth_explain_why_step(const struct berth_explain *explain);

/* Append the texts of all facts NAME to RET. */
void berth_explain_facts(const struct berth_explain *explain, const char *name,
                         struct berth_strvec *ret);

/* Who set the option ID: BERTH_FROM_USER or _SITE; NULL: nobody. */
const char *berth_explain_source(const struct berth_explain *explain,
                                 enum berth_option_id id);

/* The lifetime of the container: BERTH_LIFETIME_... */
const char *berth_explain_lifetime(const struct berth_explain *explain);

/* Append to RET whose MPI runs, as shortly as users ask for it: "the host's MPICH 4.2.1
 * (image: 4.0.2)"; nothing if berth does not know its name. Out of memory sticks in
 * RET, as in the functions below. */
void berth_explain_answer(const struct berth_explain *explain, struct berth_buf *ret);

/* Append to RET a sentence that says whose MPI runs, and why; `mpi` also what may go
 * wrong with it. */
void berth_explain_reason(const struct berth_explain *explain, struct berth_buf *ret);
void berth_explain_mpi(const struct berth_explain *explain, struct berth_buf *ret);

/* Append the first of NAMES to RET, and how many more there are: "a, b and 3 more". */
void berth_explain_names(const struct berth_strvec *names, struct berth_buf *ret);

/* Append what berth would do to RET, in the form that the request names. The text ends
 * in a newline. In a step of several components each line starts with the number of the
 * component, a colon and a blank; with --multi-prog with the rank of the task that
 * writes it. Returns 0, or -1 when out of memory. */
int berth_explain_write(const struct berth_explain *explain, struct berth_buf *ret,
                        struct berth_err *err);

/* The details alone, as text or as one JSON object: a part of berth_explain_write().
 * The names of the members are an interface, documented in berth(1). */
struct berth_json;
void berth_explain_details(const struct berth_explain *explain, struct berth_json *out);
