/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* Who the user is on a node that does not know: Slurm runs a task by numbers, but
 * Singularity and Apptainer end with "unknown userid" where getpwuid(3) fails. */

/* Does the user database of this host know the user of the process? */
bool berth_identity_is_known(void);

/* Append a line of passwd(5) for UID and GID to BUF, with NAME, HOME and SHELL where
 * they are fit for one (NULL: not), and something harmless where not. */
void berth_identity_line(struct berth_buf *buf, uid_t uid, gid_t gid, const char *name,
                         const char *home, const char *shell);

/* Let the calling process (one thread), and what it becomes, see an /etc/passwd that
 * knows its user, by the environment: SLURM_JOB_USER or USER, HOME, SHELL. It goes to a
 * user namespace and a mount namespace of its own for that; nobody else sees the file,
 * and it goes with the last process that does. */
int berth_identity_provide(struct berth_err *err);
