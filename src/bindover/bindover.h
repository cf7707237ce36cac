/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"
#include "bindover/decide.h"
#include "bindover/operation.h"
#include "bindover/replacement.h"
#include "bindover/scan.h"
#include "bindover/trial.h"
#include "mpi/program.h"
#include "plan/binding.h"

/* A program of the step, and what of the host's is in the place of its libraries. */
struct berth_program {
    char *path; /* of its file; NULL: there is none, which the task reports */
    struct berth_scan scan;
    struct berth_mpi_program wants;
    struct berth_replacement *items; /* with room for all that a step may use; MPIs
                                        first */
    int count;                       /* of ITEMS, */
    int accepted;           /* and of those that were tried and are to be used */
    struct berth_err alone; /* why tasks that use one of its MPIs are each rank 0 of 1;
                               text "": no MPI is such */
    const struct berth_replacement
        *alone_replacement; /* that MPI; NULL: the image's own */
};

/* All programs of the step: one, or several with srun --multi-prog. They are one
 * MPI_COMM_WORLD, so one decision holds for all of them. */
struct berth_programs {
    const struct berth_decide *inside;
    struct berth_program *items;
    size_t count, all;                  /* only the first COUNT are bound over now */
    struct berth_operations operations; /* what is to be done in the container */
    size_t accepted;                    /* of OPERATIONS: they were tried */
    struct berth_trial trial;           /* in which the accepted ones are in place */
    enum berth_reason reason;  /* where the cause lies if the host's cannot be used */
    struct berth_err *refused; /* for each stack of INSIDE, why it cannot be used; "":
                                  it can, or need not */
    struct berth_binding binding; /* the answer */
};

/* The loop: libraries of the host's STACK are added for each program that is to have
 * them, staged, and judged (replacement.h); then all that was added is tried, and
 * accepted or refused. At the end, what was accepted is done once in the container,
 * which the process is in, and whose mount namespace it owns. */

/* Adds a replacement by STACK to PROGRAM; FAMILY as in replacement.h. */
struct berth_replacement *berth_bindover_add(struct berth_program *program,
                                             const struct berth_stack *stack,
                                             enum berth_mpi_family family);

/* Asks berth-mpi, at the other end of the channel of INSIDE, for the stage of the stack
 * of REPLACEMENT, opens it, and scans what the image of PROGRAM has under the same
 * names. Returns 0, or -1 with a sentence in ERR. */
int berth_bindover_stage(const struct berth_decide *inside,
                         struct berth_program *program,
                         struct berth_replacement *replacement, struct berth_err *err);

/* Judges the staged libraries of REPLACEMENT for PROGRAM, plans their mounts
 * (replacement.h), and asks the settings of the site. Returns 0, or -1 with a sentence
 * in ERR and the reason in PROGRAMS. */
int berth_bindover_judge(struct berth_programs *programs,
                         const struct berth_program *program,
                         struct berth_replacement *replacement, struct berth_err *err);

/* Tries what was added to PROGRAMS, in a copy of the mount namespace and of the
 * environment in which all that was accepted before is in place: mounts each file once;
 * sets the variables; lets the image's loader confirm what runs; and writes it into the
 * binding. The process stays there, so that the next scan sees it. Returns 0, or -1
 * with a sentence in ERR; berth_bindover_refuse() is due then. */
int berth_bindover_try(struct berth_programs *programs, struct berth_err *err);

/* Removes what was added to PROGRAMS and is not accepted, and leaves the copy in which
 * it was tried. Returns 0, or -1 with a sentence in ERR. */
int berth_bindover_refuse(struct berth_programs *programs, struct berth_err *err);

/* Does all that was accepted in the container itself. Returns 0, or -1 with a sentence
 * in ERR: the step must not run then. */
int berth_bindover_do(struct berth_programs *programs, struct berth_err *err);

/* Appends the result of FORMAT to TEXT, a member of BINDING, after SEPARATOR if TEXT is
 * not NULL. Out of memory sticks in BINDING. */
void berth_bindover_say(struct berth_binding *binding, char **text,
                        const char *separator, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
