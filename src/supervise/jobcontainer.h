/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "step/handover.h"

/* In a child of the job's server: become the one that keeps a container for the job, as
 * the words and the environment of a question (job/message.h) say. CHANNEL is a socket
 * to the server, and the only descriptor of it that the child has. When the container
 * has started, the server gets JOIN there, with words: process id of the holder, number
 * of strings in the first part of the environment, and the names of variables
 * (job/variables.h). It ends with the server, and with the container. */
_Noreturn void berth_jobcontainer_run(int channel,
                                      const struct berth_handover *question);
