/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "mpi/profile.h"

/* Which library that a process has mapped proves that it uses a stage. */
enum berth_proof {
    BERTH_PROOF_MARK,  /* the one that makes the mark (ipc/loadmark.h) */
    BERTH_PROOF_FIRST, /* the first of the stack */
    BERTH_PROOF_ANY,   /* any of the stack */
};

/* A kind of replacement: what it replaces, who in the image uses it, whether it may or
 * must be there, and what proves its use. */
struct berth_kind {
    const char *option; /* by which users ask for it */
    const char *advice; /* at the end of a sentence that says why it cannot be used; "":
                           the caller has it */
    const char *purpose; /* what is said of one that is used; NULL: by the verdict */
    enum berth_proof proof;

    /* What it replaces. */
    bool by_family;  /* all libraries of an MPI's family; else those of the SONAMEs that
                        its profile lists */
    bool is_partial; /* as many of these as the host has: each replaces its own name */
    bool by_link;    /* a site may link such a SONAME to a library of another name, and
                        another library may have that SONAME */
    bool is_network; /* libraries of a network: for an image's own MPI, which has to be
                        dynamic, and no older than the image's */

    /* Who uses it. */
    bool by_command; /* programs that the command may start, too, and scripts; else
                        only what is loaded at the start */
    bool by_path;    /* what it adds to an image is found by LD_LIBRARY_PATH; else by a
                        variable of the profile */
    bool may_need_mpi; /* its libraries may call an MPI (ScaLAPACK), which has to be
                          that of the process */
};

/* The row of PROFILE. */
const struct berth_kind *berth_kind_of(const struct berth_profile *profile);
