/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"

/* The answer of --mpi-bind on a node: what was found in the container and what was put
 * into it. The process in the container fills it, and berth-mpi and the supervisor hand
 * it on as bytes; tasks read it in the rendezvous (step/rendezvous.h). Start with `=
 * {0}`. */
struct berth_binding {
    struct berth_strvec set;   /* NAME=VALUE that the MPI that runs needs */
    struct berth_strvec binds; /* staged file on the host, the file of the image that it
                                  is mounted over, ... */
    struct berth_strvec facts; /* name, text, ... (report/finding.h) */
    struct berth_strvec before; /* NAME=VALUE, the environment of the container without
                                   SET; the supervisor's, for an account */
    char *note;                 /* whose MPI runs and why; NULL: nothing to say */
    bool differs;               /* other nodes may have another note */
    char *warning;              /* what may go wrong; NULL: nothing is known */
    char *no_cma; /* why its tasks and those of other containers of the step on this
                     node  may not read each other's memory; NULL: they may */
    bool is_jobs; /* the container is that of the job (--container-lifetime=job) */
    char *no_job; /* why it is not, though the step asks for it; NULL: it does not */
    char *host;   /* the host's MPI that each rank will load, for people; NULL: none */
    char *fabric; /* the host's libraries of the network beside the image's own MPI, for
                     people; NULL: none */
    bool is_under_mpi;         /* that MPI loads some of them */
    struct berth_strvec opens; /* as in mpi/profile.h, where ranks have other nodes */
    char *alone;   /* the name of a stage by whose MPI a rank finds no other rank; NULL:
                      there is none */
    char *because; /* why it finds none */
};

/* Appends BINDING as bytes (base/fields.h) to RET, which may hold another one: they
 * count as one. Out of memory sticks in RET. */
void berth_binding_put(const struct berth_binding *binding, struct berth_buf *ret);

/* Reads the COUNT bytes at BYTES. The caller owns *RET_BINDING (berth_binding_fini). */
int berth_binding_get(const char *bytes, size_t count,
                      struct berth_binding *ret_binding, struct berth_err *err);

void berth_binding_fini(struct berth_binding *binding);

#define BERTH_BINDING __attribute__((cleanup(berth_binding_fini)))
