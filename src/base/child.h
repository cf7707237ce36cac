/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

/* A child process of berth that runs one function of this program, and no other
 * program unless the function becomes one. A helper program whose output is read is
 * started by berth_run() (base/run.h); a process that is nobody's child, by
 * berth_detach_run() (base/detach.h). */

/* Start a child that calls BODY with DATA, and ends with the exit status that BODY
 * returns, without flushing streams or calling exit handlers. If the caller ends before
 * the child, the child gets the signal DEATH (0: none); a child that becomes another
 * user, enters a user namespace, or executes a set-user-ID program must ask for it
 * again (PR_SET_PDEATHSIG). Returns the child's number, or -1 with errno. */
pid_t berth_child(int (*body)(void *data), void *data, int death);

/* The same with a pair of sockets (SOCK_SEQPACKET, closed on exec): BODY gets one end,
 * CHANNEL, and the caller, which closes it, the other in *RET_CHANNEL. */
pid_t berth_child_with_channel(int (*body)(int channel, void *data), void *data,
                               int death, int *ret_channel);
