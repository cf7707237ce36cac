/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "step/handover.h"

/* In a child of the job's server: start a container for the job, from the words and the
 * environment of QUESTION (job/message.h), and stay until it ends. CHANNEL is a socket
 * to the server, and the only descriptor of the server that the child has. When the
 * container has started, the child sends JOIN to the server, with these words: the
 * process id of the holder, the inode of its mount namespace, the number of strings in
 * the first part of the environment, and the names of variables (job/variables.h). The
 * child ends when the server or the container ends. */
_Noreturn void berth_jobcontainer_run(int channel,
                                      const struct berth_handover *question);
