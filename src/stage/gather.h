/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/strvec.h"
#include "discover/stack.h"

/* A file of the host that a stage has a copy of. */
struct berth_gathered_file {
    char *source;
    struct stat st;
    char *file;   /* from the top of the stage */
    bool patched; /* its search path becomes that of the stage */
    const struct berth_stack_library *mpi; /* which library of MPI it is; NULL: none */
    struct berth_strvec needs; /* SONAMEs that it needs besides, in a stage */
};

/* All that a stack needs: what it is linked with, and what it will open. */
struct berth_gathered {
    struct berth_gathered_file *files;
    size_t count;
    struct berth_strvec links;       /* FILE, TARGET, FILE, TARGET, ... */
    struct berth_strvec directories; /* of the host, that were listed */
    struct berth_strvec absent;      /* paths of the host where nothing was found */
};

/* Gather the files of STACK for a stage: the libraries of MPI, those that they need,
 * the plugins that any of these opens (mpi/profile.h) with what those need, glibc's
 * whole family apart under glibc/, and the stack's data. A plugin that lacks a library
 * on this host is left out, as it cannot be loaded here. A library of MPI has other
 * names, too (libmpi.so.12 and libmpich.so.12 are one), each a link beside it, and
 * needs itself by them, and the sisters that complete it (stage/sisters.h). The caller
 * owns *RET_GATHERED (berth_gathered_fini). */
int berth_gather(const struct berth_stack *stack, struct berth_gathered *ret_gathered,
                 struct berth_err *err);

void berth_gathered_fini(struct berth_gathered *gathered);
