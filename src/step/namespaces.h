/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "mpi/reach.h"

/* Is the namespace NAME (user, pid, ... as in /proc/PID/ns) of process PID another than
 * ours? What cannot be seen is the same. */
bool berth_namespaces_differ(pid_t pid, const char *name);

/* Are PID and OTHER in the same namespace NAME? What cannot be seen is not. */
bool berth_namespaces_shared(pid_t pid, pid_t other, const char *name);

/* Open the namespace NAME of process PID. Returns a descriptor, which is closed on
 * exec, or -1 with errno. */
int berth_namespaces_open(pid_t pid, const char *name);

/* Enter the user namespace of process PID, in which alone files of its image may be
 * read that FUSE serves. Returns 0, or -1 with errno. */
int berth_namespaces_enter_user(pid_t pid);

/* The user namespace that owns the one of FD (/proc/PID/ns), and the parent of that
 * user namespace INNER. Returns a descriptor, which is closed on exec, or -1 with
 * errno. */
int berth_namespaces_owner(int fd);
int berth_namespaces_parent(int inner);

/* The calling process has made a user namespace: it is UID and GID there, and was
 * OUTER_UID and OUTER_GID in the one around it. Returns 0, or -1 with errno. */
int berth_namespaces_map(uid_t uid, uid_t outer_uid, gid_t gid, gid_t outer_gid);

/* What the container of process HOLDER has for itself, and this process has not; the
 * rest of *REACH stays. */
void berth_namespaces_find_reach(pid_t holder, struct berth_mpi_reach *reach);

/* Does the server of PMIx, which the variables TASK name, keep what it knows in files
 * that processes in that container do not see? (Slurm's mpi/pmix: pmixp_info.c; PMIx 5
 * and later: gds/shmem2.) */
bool berth_namespaces_is_pmix_hidden(pid_t holder, char *const *task);
