/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strvec.h"
#include "step/processes.h"

/* The programs that serve the image of a container (squashfuse, fuse-overlayfs, ...).
 * Apptainer's are children of the runtime. SingularityCE's detach themselves, and mount
 * the image below /tmp where the host sees it: these are known by a socket of ours that
 * they have inherited from the runtime. */
struct berth_servers {
    pid_t runtime; /* which starts them */
    char *socket;  /* that it has from us, as in probe/opened.h; NULL: none */
    struct berth_strvec mounts; /* on this host, of those that were told to end */
    struct rusage usage; /* of the process that berth_servers_reap() has returned, */
    bool is_server;      /* and whether it served the image */
};

/* Is a program of that name (comm) one? */
bool berth_servers_has_name(const char *name);

/* What servers have taken since they started. */
struct berth_servers_usage {
    unsigned int count;
    long kib;      /* of memory, now */
    long ms;       /* of processor time */
    pid_t pids[8]; /* of the first ones */
};

/* Add PROCESS to USE if it is a server of the container that RUNTIME has started, which
 * ABOVE has (0: not known): those of SingularityCE become the supervisor's. */
void berth_servers_add_usage(const struct berth_process *process, pid_t runtime,
                             pid_t above, struct berth_servers_usage *usage);

/* The use of all servers of the container with the first process HOLDER, which may be
 * another supervisor's. */
void berth_servers_usage(pid_t holder, struct berth_servers_usage *ret);

/* Trace those that there are by now; returns how many were not traced before. */
int berth_servers_seize(struct berth_servers *servers);

/* How many there are, whoever traces them. */
int berth_servers_count(struct berth_servers *servers);

/* The next child of the calling process that has ended, and its status (NULL: nobody
 * asks); servers that are traced and have stopped go on: what the kernel, the runtime
 * or the caller sent reaches them, and no other signal does. Returns its number; 0:
 * none has ended; -1: there is no child. */
pid_t berth_servers_reap(struct berth_servers *servers, int *ret_status);

/* Wait until berth_servers_reap() may have something to do, one of the COUNT
 * descriptors is ready (poll(2)), or for MILLISECONDS (below 0: for ever). All signals
 * are blocked in the calling process. */
void berth_servers_wait(struct pollfd fds[], nfds_t count, int milliseconds);

/* How long a round of berth_servers_end() lasts, and how many rounds what ends by
 * itself has. */
enum { BERTH_SERVERS_ROUND_MS = 50, BERTH_SERVERS_PATIENCE = 10 };

/* The runtime and the last task have ended ROUNDS ago: the servers get SIGTERM when
 * they have had their time, and SIGKILL when they have had it twice. Those that still
 * serve a place on this host are remembered. */
void berth_servers_end(struct berth_servers *servers, int rounds);

/* When they have ended: take away what the runtime would have, had it not been killed:
 * their mounts and the directories that it had made for them. */
void berth_servers_tidy(struct berth_servers *servers);

/* Has the runtime unpacked IMAGE into a directory instead of mounting it? Nobody has
 * its file open then. Of a setuid runtime that cannot be seen, and root's lets the
 * kernel mount it. */
bool berth_servers_unpacked(struct berth_servers *servers, const char *image);

/* What is said of that: IMAGE, and what it costs. */
#define BERTH_SERVERS_UNPACKED                                                         \
    "image '%s': the runtime has unpacked it instead of mounting it, "
#define BERTH_SERVERS_REPAIR                                                           \
    "; ask the administrators to repair /dev/fuse and squashfuse on that node"

/* Has the runtime, or a server, the file IDENTITY (NULL: nobody asks) open, which IMAGE
 * led to when it was looked at? Of a setuid runtime that cannot be seen, and is
 * believed; a runtime that has unpacked the image is not. */
int berth_servers_check(struct berth_servers *servers, const char *identity,
                        const char *image, struct berth_err *err);
