/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The names of facts that berth-mpi finds in a container, for an account of the launch
 * (plan/explain.h). Each fact has a text. The facts of a stack follow its
 * BERTH_FINDING_STACK; they are named as explain writes them (base/json.h). */
#define BERTH_FINDING_PROGRAM   "program"   /* the file that the command is */
#define BERTH_FINDING_RUNNER    "runner"    /* what the kernel executes for it */
#define BERTH_FINDING_LINKED    "linked"    /* family that it is linked with */
#define BERTH_FINDING_IMAGE_MPI "image-mpi" /* an MPI of the image: MPICH 4.0.2 */
#define BERTH_FINDING_MANAGERS  "managers"  /* what the MPI that runs uses */
#define BERTH_FINDING_STACK     "stack"     /* of the host, that runs: MPICH 4.2.1 */
#define BERTH_FINDING_PROFILE   "profile|profile"
#define BERTH_FINDING_FOUND     "found_by|found by" /* what led to it */
#define BERTH_FINDING_STAGED    "staged|staged in"  /* where its copies are */
#define BERTH_FINDING_CONFIG    "config"            /* a file that its libraries read */
#define BERTH_FINDING_GLIBC     "glibc|glibc"       /* kept or replaced */
#define BERTH_FINDING_GLIBC_IMAGE                                                      \
    "glibc_image|image's glibc" /* newest version that it defines */
#define BERTH_FINDING_GLIBC_HOST "glibc_host|host's glibc"
#define BERTH_FINDING_LOADER     "loader"  /* of the image, which was asked */
#define BERTH_FINDING_TARGET     "target"  /* about this file */
#define BERTH_FINDING_LIBRARY    "library" /* soname TAB path TAB staged file */
#define BERTH_FINDING_OWN        "own" /* soname TAB path: MPI of the image itself */
#define BERTH_FINDING_WATCHED    "watched" /* how it is seen that the ranks load it */
