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

/* Finds for RET, whose ITEMS are set, the program that COMMAND (ends in NULL) starts.
 * In the place of the first argument comes the one with MPI that the others name, or
 * that starts ranks. Else, in the place of one that can load no MPI comes the first
 * that can, and the other way round if all that are named cannot. Returns 0, or -1 with
 * a sentence in ERR. */
int berth_decide_find(const struct berth_decide *inside, char *const *command,
                      struct berth_program *ret, struct berth_err *err);

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

/* Asks the loader of SCAN again, in the environment ENV (ends in NULL), which has SET
 * in it, about the program and all users: each library that is replaced must be the
 * staged one, and no library may be missing. If the loader shows a library of the image
 * where the verdict chose the host's copy, adds the mount of that copy to OPERATIONS,
 * and does it. Returns 0, or -1 with a sentence in ERR that names the file. */
int berth_replacement_verify(struct berth_replacement *replacement,
                             const struct berth_scan *scan,
                             struct berth_operations *operations, char *const *env,
                             struct berth_err *err);

/* Appends the facts about PROGRAM for an account of the launch to FACTS: name
 * (plan/binding.h), text, ... Out of memory sticks in FACTS. */
void berth_findings_list(const struct berth_program *program,
                         struct berth_strvec *facts);

/* Puts those stacks of KIND, FABRIC or LIBRARIES, that are asked for over the libraries
 * of PROGRAMS in the image, and lets the image's loader say whether these are what each
 * of their users loads. A fabric is used where it has each symbol that these users need
 * of the image's libraries, in all programs.
 *
 * Where the request leaves the choice to berth, what cannot be used stays the image's.
 * Libraries are always named. Returns 0, and the binding of PROGRAMS has a note that
 * says which are used, and of others why not, and a warning about one that is named and
 * that nobody is known to need; -1 with a sentence in ERR when the step is not to run.
 */
int berth_hostlibs_use(struct berth_programs *programs, enum berth_profile_kind kind,
                       struct berth_err *err);

/* Are fabrics asked for: some, or one of the host's by its name? */
bool berth_hostlibs_are_asked(const struct berth_decide *inside);

/* Does the witness look for libraries in the ranks? Not where it looks for a fabric
 * under the image's own MPI. */
bool berth_hostlibs_are_watched(const struct berth_decide *inside);

/* Checks whether the tasks of the step of INSIDE can find and reach each other with the
 * MPI that will run (mpi/pmi.h, mpi/reach.h); CONTAINER is the environment there (ends
 * in NULL). A PROGRAM whose MPI is not known may use each replacement, which are those
 * of MPIs, or, without any, each MPI of the image: it passes if one of these fits. Sets
 * `alone` and `alone_replacement` of PROGRAM for one that does not fit: the witness
 * reports a rank that loads it (bindover/witness.h). Returns 0, or -1 with a sentence
 * in ERR. */
int berth_startup_check(const struct berth_decide *inside,
                        struct berth_program *program, char *const *container,
                        struct berth_err *err);

/* Appends to RET which MPIs PROGRAM, which has replacements, may use: ALL of them, or
 * only those that do not bring the host's C library. An install that provides two of
 * them, as Open MPI 6 with the standard ABI, is named once. Out of memory sticks in
 * RET. */
void berth_startup_name(const struct berth_program *program, bool all,
                        struct berth_buf *ret);

/* The stack whose libraries replace those of one family. */
struct berth_match {
    enum berth_mpi_family family;
    const struct berth_stack *stack;
};

enum { BERTH_MATCHES_MAX = BERTH_FAMILIES };

/* Chooses from the MPIs of STACKS, under the MODE of the request (auto counts as host),
 * the first that fits each family. For a program that is linked with MPI, that is its
 * own family. For any other program (a script, Python, a launcher) it is each family
 * of which the image has libraries, as far as the host has it. Returns the number of
 * matches in RET_MATCHES, 0 if neither program nor image uses MPI; -1 with a sentence
 * in ERR if no stack fits, or if the first that fits is absent. *RET_REASON is where
 * the cause of a refusal lies. */
int berth_match_find(const char *mode, const struct berth_mpi_program *program,
                     const struct berth_mpi_objects *image,
                     const struct berth_stacks *stacks,
                     struct berth_match ret_matches[BERTH_MATCHES_MAX],
                     enum berth_reason *ret_reason, struct berth_err *err);

/* The sentence for a STACK that other nodes may have, and this one has not. Always
 * returns -1. */
int berth_match_refuse_absent(const struct berth_stack *stack, struct berth_err *err);
