/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"

/* The answer of --mpi-bind on a node: what berth-mpi found in the container, and what
 * it mounted there. berth-mpi's process in the container fills it. berth-mpi and the
 * supervisor pass it on as bytes; tasks read it in the rendezvous (ipc/rendezvous.h).
 * Start with `= {0}`, end with berth_binding_fini(). */
struct berth_binding {
    struct berth_strvec set;     /* NAME=VALUE that the MPI that runs needs */
    struct berth_strvec binds;   /* staged file on the host, the file of the image under
                                    it, the option that asks for it, ... */
    struct berth_strvec facts;   /* name, text, ... (BERTH_FINDING_...) */
    struct berth_strvec changes; /* of the runtime, without SET (plan/envdiff.h); from
                                    the supervisor, to explain */
    char *note;                  /* whose MPI runs, and why; NULL: no note */
    char *choice;  /* the note without what nobody can change; NULL: the same */
    char *warning; /* what may go wrong; NULL: no warning */
    char *no_cma;  /* why tasks of this container and of other containers of the step on
                      this node may not read each other's memory; NULL: they may */
    bool is_outer; /* the runtime is root in an outer user namespace (container/outer.h)
                    */
    bool is_jobs;  /* the job keeps the container (--container-lifetime=job) */
    char *no_job; /* why the job does not keep it, though the step asks for it; NULL: it
                     does, or the step does not ask */
    char *overlay; /* the directory for what tasks write to the image; NULL: none */
    char *written; /* where what they write is, and why, for people; NULL: not known */
    char *host;    /* the host's MPI that each rank will load, for people; NULL: none */
    char *fabric;  /* the host's network libraries beside the image's own MPI, or other
                      libraries of the host, or both (A or B), for people; NULL: none */
    char *alone;   /* the name of a stage with whose MPI each rank would be rank 0 of 1;
                      NULL: there is none */
    char *because; /* the reason for `alone` */
};

/* The names of facts that berth-mpi finds in a container, to explain the launch
 * (plan/explain.h). Each fact has a text. The facts of a stack follow its
 * BERTH_FINDING_STACK; they are named as explain writes them (base/json.h). */
#define BERTH_FINDING_PROGRAM   "program"   /* the file that the command is */
#define BERTH_FINDING_RUNNER    "runner"    /* what the kernel executes for it */
#define BERTH_FINDING_LINKED    "linked"    /* family that it is linked with */
#define BERTH_FINDING_IMAGE_MPI "image-mpi" /* an MPI of the image: MPICH 4.0.2 */
#define BERTH_FINDING_MANAGERS  "managers"  /* what the MPI that runs uses */
#define BERTH_FINDING_WATCHED   "watched"   /* which ranks, and how; not if none is */
#define BERTH_FINDING_STACK     "stack"     /* of the host, that runs: MPICH 4.2.1 */
#define BERTH_FINDING_PROFILE   "profile|profile"
#define BERTH_FINDING_FOUND     "found_by|found by" /* what led to it */
#define BERTH_FINDING_STAGED    "staged|staged in"  /* where its copies are */
#define BERTH_FINDING_CONFIG    "config"            /* a file that its libraries read */
#define BERTH_FINDING_GLIBC     "glibc|glibc"       /* kept or replaced */
#define BERTH_GLIBC_REPLACED    "replaced"
#define BERTH_FINDING_GLIBC_IMAGE                                                      \
    "glibc_image|image's glibc" /* newest version that it defines */
#define BERTH_FINDING_GLIBC_HOST "glibc_host|host's glibc"
#define BERTH_FINDING_LOADER     "loader"  /* of the image, which was asked */
#define BERTH_FINDING_TARGET     "target"  /* about this file */
#define BERTH_FINDING_LIBRARY    "library" /* soname TAB path [TAB staged file] */

/* Set MEMBER of BINDING, a text, to a copy of TEXT. Out of memory sticks in the facts
 * of BINDING, because NULL would say that there is no such text. */
void berth_binding_set(struct berth_binding *binding, char **member, const char *text);

/* Append BINDING as bytes (base/fields.h) to RET. RET may have the bytes of another
 * one: berth_binding_get() reads both as one. Out of memory sticks in RET. */
void berth_binding_put(const struct berth_binding *binding, struct berth_buf *ret);

/* Parse the COUNT bytes at BYTES (NULL if COUNT is 0). Returns 0, and the caller owns
 * *RET_BINDING; or -1 with a sentence in ERR. */
int berth_binding_get(const char *bytes, size_t count,
                      struct berth_binding *ret_binding, struct berth_err *err);

void berth_binding_fini(struct berth_binding *binding);

#define BERTH_BINDING __attribute__((cleanup(berth_binding_fini)))
