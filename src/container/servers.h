/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* The programs that serve the image of a container (squashfuse, fuse-overlayfs, ...):
 * children of its runtime. Those of SingularityCE detach themselves, and mount the
 * image below /tmp, where the host sees it; so the calling process must be their reaper
 * (PR_SET_CHILD_SUBREAPER). */
struct berth_servers {
    pid_t runtime;  /* 0: it has ended */
    bool is_server; /* did that process serve the image? */
};

/* What servers have used since they started. */
struct berth_servers_usage {
    unsigned int count;
    long kib; /* of memory, now */
    long ms;  /* of processor time */
};

/* Find what all servers of the container of HOLDER have used; another supervisor may
 * have started it. */
void berth_servers_usage(pid_t holder, struct berth_servers_usage *ret);

/* Trace the servers that run now. */
void berth_servers_seize(struct berth_servers *servers);

/* Wait for a child of the calling process that has ended, without blocking; *RET_STATUS
 * is its status. Lets traced servers that have stopped go on: they get signals of the
 * kernel, the runtime and the caller, and no others. Returns the process id; 0: no
 * child has ended; -1: there is no child. */
pid_t berth_servers_reap(struct berth_servers *servers, int *ret_status);

/* Wait until a child changes, one of the COUNT descriptors in FDS is ready (poll(2)),
 * or MILLISECONDS are over (below 0: no limit). The calling process must have all
 * signals blocked. */
void berth_servers_wait(struct pollfd fds[], nfds_t count, int milliseconds);

/* The length of a round of berth_servers_end(), and how many rounds a process has to
 * end by itself. */
enum { BERTH_SERVERS_ROUND_MS = 50, BERTH_SERVERS_PATIENCE = 10 };

/* The runtime and the last task ended ROUNDS ago: after BERTH_SERVERS_PATIENCE rounds
 * send SIGTERM to the servers, after twice as many SIGKILL. */
void berth_servers_end(struct berth_servers *servers, int rounds);

/* Kill every child of the calling process that is neither a server nor a fusermount:
 * killed, either would leave a mount. */
void berth_servers_kill_others(void);

/* While SingularityCE starts a container it makes directories below /tmp, or where
 * TMPDIR and its own variables say: rootfs-NUMBER/root, where it mounts the image, and
 * check-overlayNUMBER, where it tries overlayfs. If it is killed, they stay. Remove
 * what such runtimes of the calling user have left, when one with the path RUNTIME was
 * killed and its servers have ended: mounts that have lost their server, and empty
 * directories. The directories stay if another runtime of the user is starting, which
 * may be about to use them. */
void berth_servers_clear(const char *runtime);

/* The sentence about a runtime that has unpacked IMAGE, what it costs, and the remedy.
 */
#define BERTH_SERVERS_UNPACKED                                                         \
    "image '%s': the runtime has unpacked it instead of mounting it, "
#define BERTH_SERVERS_REPAIR                                                           \
    "; ask the administrators to repair /dev/fuse and squashfuse on that node"

/* Check that the runtime or a server has the file IDENTITY open (as in base/fileid.h),
 * which IMAGE was when the site's rules were applied. A setuid runtime passes, because
 * its descriptors cannot be read; a runtime that has unpacked the image fails. Returns
 * 0, or -1 with a sentence in ERR. If IDENTITY is NULL, that does not fail, but
 * *RET_UNPACKED is true, except for root, whose runtime lets the kernel mount the
 * image.
 */
int berth_servers_check(struct berth_servers *servers, const char *identity,
                        const char *image, bool *ret_unpacked, struct berth_err *err);
