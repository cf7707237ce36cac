/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"
#include "plan/launch.h"

/* The launch of a container that stays for a job: that of a step, without what belongs
 * to the step alone. Borrows the step's. */
struct berth_job_launch {
    struct berth_launch launch;
    struct berth_request request; /* mpi, libs, explain and save differ */
};

/* Make the launch of the job's container from that of a STEP. The host's MPI is not in
 * it: each step binds it in its own copy of the mounts. */
void berth_job_launch_from(const struct berth_launch *step,
                           struct berth_job_launch *ret);

/* Append the key of the container to RET: steps with another key need another
 * container. The key has the words of the runtime, the identities (device, inode, size
 * and time of change) of the files that these words name, those of the files that flags
 * and variables of the runtime name in the working directory, the user's home, and the
 * release of berth. Variables (job/variables.h) and the working directory are compared
 * apart. Returns 0, or -1 with a sentence in ERR. */
int berth_job_key(const struct berth_job_launch *launch, struct berth_buf *ret,
                  struct berth_err *err);
