/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* A user whom the node does not know. Slurm needs only numbers to run a task, but
 * Singularity and Apptainer end with "unknown userid" if getpwuid(3) fails. */

/* Append a line of passwd(5) for UID and GID to BUF. NAME, HOME and SHELL may be NULL;
 * one that is NULL, or cannot stand in such a line, is replaced by userUID, / or
 * /bin/sh. */
void berth_identity_line(struct berth_buf *buf, uid_t uid, gid_t gid, const char *name,
                         const char *home, const char *shell);

/* Give the calling process (one thread), and the programs that it becomes, an
 * /etc/passwd that has its user, made from the variables SLURM_JOB_USER or USER, HOME
 * and SHELL. The process enters a user namespace and a mount namespace of its own; no
 * other process sees the file, which ends with the namespaces. Returns 0, or -1 with a
 * sentence in ERR. */
int berth_identity_provide(struct berth_err *err);
