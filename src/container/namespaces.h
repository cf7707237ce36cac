/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "mpi/reach.h"

/* The process that holds a container. Another process may have its number later, but is
 * not in the same mount namespace. */
struct berth_holder {
    pid_t pid;
    unsigned int mounts; /* inode of its mount namespace; 0: it cannot be seen */
};

/* What PID holds now. */
struct berth_holder berth_holder_of(pid_t pid);

/* Is its process still the holder? No, if its mount namespace could not be seen. */
bool berth_holder_is_there(struct berth_holder holder);

/* Open the mount namespace of HOLDER. Returns a descriptor, which is closed on exec and
 * keeps the inode from others; -1 with errno: the holder has ended. */
int berth_holder_open(struct berth_holder holder);

/* Kill HOLDER, and no other process that has its number by now. */
void berth_holder_kill(struct berth_holder holder);

/* Is process PID in another namespace NAME (user, pid, ... as in /proc/PID/ns) than the
 * caller? False if that cannot be read. */
bool berth_namespaces_differ(pid_t pid, const char *name);

/* Are PID and OTHER in the same namespace NAME? False if that cannot be read. */
bool berth_namespaces_shared(pid_t pid, pid_t other, const char *name);

/* Is FD the namespace NAME of the caller? */
bool berth_namespaces_is_own(int fd, const char *name);

/* Open the namespace NAME of process PID. Returns a descriptor, which is closed on
 * exec, or -1 with errno. */
int berth_namespaces_open(pid_t pid, const char *name);

/* Kill every process but process BUT in the mount namespace FD; none if it is that of
 * the caller. */
void berth_namespaces_kill(int fd, pid_t but);

/* Does the user namespace of process PID have more ids than one, as with --fakeroot? */
bool berth_namespaces_has_others(pid_t pid);

/* Is the calling user root in the user namespace of process PID? False if that cannot
 * be read. */
bool berth_namespaces_is_root(pid_t pid);

/* Enter the user namespace of process PID: only in it can files of an image be read
 * that FUSE serves. The caller is not dumpable then. Returns 0, or -1 with errno. */
int berth_namespaces_enter_user(pid_t pid);

/* Map the ids of a user namespace that the calling process has made: UID and GID in it
 * are OUTER_UID and OUTER_GID outside. Returns 0, or -1 with errno. */
int berth_namespaces_map(uid_t uid, uid_t outer_uid, gid_t gid, gid_t outer_gid);

/* Set in *REACH which namespaces and which /dev/shm the container of process HOLDER has
 * for itself; the rest of *REACH stays. */
void berth_namespaces_find_reach(pid_t holder, struct berth_mpi_reach *reach);

/* Does the PMIx server that the variables TASK name keep its data in files that the
 * container of HOLDER does not show? (Slurm's mpi/pmix: pmixp_info.c; PMIx 5 and later:
 * gds/shmem2.) */
bool berth_namespaces_is_pmix_hidden(pid_t holder, char *const *task);
