/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/deadline.h"
#include "base/err.h"
#include "base/strvec.h"
#include "bindover/stack.h"

/* A file of the host of which a stage has a copy. */
struct berth_gathered_file {
    char *source;
    struct stat st;
    char *file;                            /* from the top of the stage */
    bool patched;                          /* it gets the search path of the stage */
    const struct berth_stack_library *mpi; /* which library of MPI it is; NULL: none */
    struct berth_strvec needs; /* SONAMEs that it needs in a stage, in addition */
};

/* All that a stack needs: what it is linked with, and what it opens while it runs. */
struct berth_gathered {
    struct berth_gathered_file *files;
    size_t count, room;
    struct berth_strvec links; /* FILE, TARGET, FILE, TARGET, ... */
    struct berth_strvec seen;  /* what was searched: sources (bindover/manifest.h) */
};

/* Gathers the files of STACK for a stage: the libraries of MPI and those that they
 * need; the plugins that any of these opens (mpi/profile.h), with the libraries that
 * plugins need; all of glibc, under glibc/; and the stack's data. A plugin that lacks a
 * library on this host is left out, as it cannot be loaded here. A library of MPI needs
 * itself by its other names (libmpi.so.12 is also libmpich.so.12), each a link beside
 * it, and needs the sisters that complete it (berth_sisters_add()). Returns 0 with
 * *RET_GATHERED, which the caller owns (berth_gathered_fini) and which borrows from
 * STACK; -1 with a sentence in ERR. */
int berth_stagefiles_gather(const struct berth_stack *stack,
                            struct berth_gathered *ret_gathered, struct berth_err *err);

void berth_gathered_fini(struct berth_gathered *gathered);
