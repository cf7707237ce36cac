/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "mpi/collisions.h"
#include "mpi/program.h"

enum berth_mpi_answer {
    BERTH_VERDICT_YES,
    BERTH_VERDICT_YES_WITH_HOST_GLIBC, /* only with the host's glibc, all of it */
    BERTH_VERDICT_NO,
    BERTH_VERDICT_CANNOT_TELL,
};

/* Where the cause of a refusal of the host's libraries lies, which shows whether it
 * applies to the other nodes of the step. A cause that is not known counts as NODE. */
enum berth_reason {
    BERTH_REASON_NODE, /* this node, or the release of the host's libraries: other nodes
                          may not have the error, or may be of another release */
    BERTH_REASON_IMAGE /* the image or the program: applies to all nodes */
};

/* Can the program run on the host's MPI? */
struct berth_mpi_verdict {
    enum berth_mpi_answer answer;
    struct berth_err
        because; /* a sentence, with what would be right in it unless YES */
    enum berth_reason reason;         /* unless YES: where the reason lies */
    struct berth_mpi_choices choices; /* YES: for libraries that both sides bring */
};

/* Judges from facts alone. IMAGE has the program, what its loader loads (LOADED) and,
 * as PRESENT, the image's MPI libraries and its libraries with the names of the host's;
 * in any role its files of glibc. HOST has the MPI libraries of one installation and
 * all that they load or may load, the host's glibc too. PROGRAM was read from IMAGE.
 *
 * For a script, or a program that loads no MPI when it starts (an interpreter), the MPI
 * libraries of the image are judged: YES then means that those of the host's family can
 * be replaced, and that those of other families stay.
 *
 * The caller owns *RET_VERDICT (berth_mpi_verdict_fini), which points into IMAGE and
 * HOST. Returns 0, or -1 out of memory. */
int berth_mpi_judge(const struct berth_mpi_program *program,
                    const struct berth_mpi_objects *image,
                    const struct berth_mpi_objects *host,
                    struct berth_mpi_verdict *ret_verdict, struct berth_err *err);

/* Judges whether libraries of the host that are not an MPI (a network's, a BLAS), which
 * messages call NAME, and the image's can be in one process. IMAGE has, as PRESENT, its
 * libraries under the names of HOST's. A YES has no sentence, and a NO no advice. For
 * the rest it is as above. */
int berth_mpi_judge_fabric(const char *name, const struct berth_mpi_objects *image,
                           const struct berth_mpi_objects *host,
                           struct berth_mpi_verdict *ret_verdict,
                           struct berth_err *err);

void berth_mpi_verdict_fini(struct berth_mpi_verdict *verdict);
