/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"
#include "bindover/inside.h"
#include "bindover/replacement.h"
#include "mpi/program.h"
#include "bindover/scan.h"

/* The most fabrics and libraries of a host that a step may ask for. */
enum { BERTH_FABRICS_MAX = 16 };

/* The fabrics of the host that are under an image's own MPI, or the libraries of the
 * host that are in the place of the image's, for one program. */
struct berth_fabrics {
    enum berth_profile_kind kind; /* FABRIC or LIBRARIES; set by the caller */
    struct berth_scan *scan;      /* at the program; set by the caller */
    bool has_host;                /* the host's MPI is in the container; the same */
    const struct berth_mpi_program *wants; /* the same */
    struct berth_replacement items[BERTH_FABRICS_MAX];
    int count;
    struct berth_err refused[BERTH_FABRICS_MAX]; /* why one of the host's cannot be
                                                    used; "": it can, or need not */
    struct berth_err warning; /* about one that is named and that nobody is known to
                                 need; "": none */
};

/* The process is in the container of INSIDE, which runs the COUNT PROGRAMS. Put those
 * fabrics, or libraries (all PROGRAMS are of one kind), that are asked for over the
 * image's libraries, and let the image's loader say whether these are what each of
 * their users loads. A fabric is used where it has each symbol that these users need of
 * the image's libraries, in all programs.
 *
 * Where the request leaves the choice to berth, what cannot be used stays the image's.
 * Libraries are always named. Returns 0, with a sentence in RET_NOTE that says which
 * are used, and of others why not ("": no library is used, and the warning says why);
 * -1 with a sentence in ERR when the step is not to run. */
int berth_fabrics_use(const struct berth_inside *inside,
                      struct berth_fabrics *const *programs, size_t count,
                      struct berth_err *ret_note, struct berth_err *err);

/* Are fabrics asked for: some, or one of the host's by its name? */
bool berth_fabrics_are_asked(const struct berth_inside *inside);

/* Does the witness look for libraries in the ranks, because an MPI and a fabric of the
 * host are ruled out? */
bool berth_fabrics_witness_libraries(const struct berth_inside *inside);

/* Appends what FABRICS uses to RET, for people; nothing where it uses none. */
void berth_fabrics_name(const struct berth_fabrics *fabrics, struct berth_buf *ret);
