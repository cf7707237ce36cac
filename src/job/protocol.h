/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "ipc/address.h"

/* The messages on the socket of the job's server; for most kinds the descriptor is that
 * of a handover (ipc/handover.h), which has words and an environment.
 *
 * A step sends:
 *     ASK     words: those of enum berth_job_word; environment: of the step. Further
 *             descriptors: those of enum berth_job_fd
 * The server answers:
 *     JOIN    words: the release of berth, process id of the holder, inode of its mount
 *             namespace, and the number of the changes that the runtime has made;
 *             environment: these (plan/envdiff.h), and then that of the holder. A
 *             second descriptor is at end of file when the container has ended
 *     ALONE   the job has no container for the step
 *     IMAGE   to a step that leaves out the image of a container with a name; words:
 *             the image and its URI ("": it has none)
 *     REFUSE  word: the sentence for the user, why the step cannot have the container
 *             with this name
 *
 * and closes the socket; but after JOIN for a container with a name the socket stays
 * open, and its end says that the step has ended. */
enum berth_job_kind {
    BERTH_JOB_ASK = 'A',
    BERTH_JOB_JOIN = 'J',
    BERTH_JOB_ALONE = 'N',
    BERTH_JOB_IMAGE = 'I',
    BERTH_JOB_REFUSE = 'R'
};

/* The descriptors of a question, in their order: the handover, and the namespaces of
 * the step, which prove that it is not a program in an image. The kernel lets no such
 * program open those of the host (ptrace(2), "PTRACE_MODE_READ_FSCREDS"). A process id
 * would prove nothing: it may be another process's by the time it is looked up. */
enum berth_job_fd {
    BERTH_JOB_HANDOVER,
    BERTH_JOB_USER,
    BERTH_JOB_MOUNTS,
    BERTH_JOB_FDS
};

/* The number of descriptors of JOIN for a step. */
enum { BERTH_JOB_JOIN_FDS = 2 };

/* The words of a question, in their order. */
enum berth_job_word {
    BERTH_JOB_KEY,       /* job/key.h */
    BERTH_JOB_ORDER,     /* plan/order.h, for the container alone */
    BERTH_JOB_DIRECTORY, /* the working directory; "": gone */
    BERTH_JOB_IDENTITY,  /* of that, as in base/fileid.h */
    BERTH_JOB_OWN,       /* "own": only a container of this directory */
    BERTH_JOB_WORDS
};

/* SLURM_STEP_ID in the environment of the server of a job, as sacct(1) has it. */
#define BERTH_JOB_STEP "extern"

/* Make the address of the server of JOB, a job of user UID, on the node NODE. NODE is
 * Slurm's name of the node (SLURMD_NODENAME), because a host may have several nodes.
 * Returns 0, or -1 if NODE is empty or too long. */
int berth_job_address(uid_t uid, uint32_t job, const char *node,
                      struct berth_address *ret);
