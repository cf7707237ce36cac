/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>

/* How a program in a container has a command of the host run, such as srun. It connects
 * to the supervisor of its container (SOCK_SEQPACKET) and sends letters
 * (job/message.h):
 *
 *     RUN       a handover: the token, the soft limits and the working directory of the
 *               program, the command's name, its arguments; and the environment
 *     STREAM    a descriptor, three times: standard input, output and error
 *     1 to 31   then, at any time: the command is to get this signal
 *
 * The supervisor sends an int, BERTH_HOSTCOMMAND_BEGUN, when it has all of that, and
 * another one: how the command has ended, as wait(2) tells it; or a single one: -errno,
 * because it cannot start a process. A program that has ended takes its command with
 * it.
 *
 * All users of a node can list the names of such sockets, and the user's closed
 * containers (--contain) reach them. So who asks has a token, too: the tasks find
 * NAME.TOKEN in their environment. */
enum { BERTH_HOSTCOMMAND_TOKEN = 32 }; /* hexadecimal digits */

enum { BERTH_HOSTCOMMAND_BEGUN = INT_MIN };

enum berth_hostcommand_letter {
    BERTH_HOSTCOMMAND_RUN = 'R',
    BERTH_HOSTCOMMAND_STREAM = 'S'
};

/* The words of RUN. */
enum berth_hostcommand_word {
    BERTH_HOSTCOMMAND_PROOF,  /* the token */
    BERTH_HOSTCOMMAND_LIMITS, /* step/limits.h */
    BERTH_HOSTCOMMAND_DIRECTORY,
    BERTH_HOSTCOMMAND_NAME, /* and the arguments behind it */
    BERTH_HOSTCOMMAND_WORDS
};
