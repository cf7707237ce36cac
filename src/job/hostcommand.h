/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>

/* How a program in a container has a command of the host run, such as srun. It connects
 * to the supervisor of its container (SOCK_SEQPACKET) and sends messages
 * (job/message.h):
 *
 *     RUN       a handover: the token, the soft limits and the working directory of the
 *               program, the command's name, its arguments; and the environment
 *     STREAM    a descriptor, three times: standard input, output and error
 *     FILE      a descriptor: a file that the supervisor asked for
 *     NO_FILE   the same, where it cannot be opened; then, as the kind of a message,
 * errno 1 to 31   then, at any time: the command is to get this signal
 *
 * The supervisor sends an int, BERTH_HOSTCOMMAND_BEGUN, when it has all of that, and
 * another one: how the command has ended, as wait(2) tells it; or a single one: -errno,
 * because it cannot start a process. In between it may ask for files that the command
 * line names: a struct berth_hostcommand_file. A program that has ended takes its
 * command with it.
 *
 * All users of a node can list the names of such sockets, and the user's closed
 * containers (--contain) reach them. So who asks has a token, too: the tasks find
 * NAME.TOKEN in their environment. */
enum { BERTH_HOSTCOMMAND_TOKEN = 32 }; /* hexadecimal digits */

enum { BERTH_HOSTCOMMAND_BEGUN = INT_MIN };

/* Longer than an int, without the end of the path that is not used. */
struct berth_hostcommand_file {
    int flags; /* of open(2): O_RDONLY, or O_PATH to see which file it is */
    char path[PATH_MAX];
};

enum berth_hostcommand_kind {
    BERTH_HOSTCOMMAND_RUN = 'R',
    BERTH_HOSTCOMMAND_STREAM = 'S',
    BERTH_HOSTCOMMAND_FILE = 'F',
    BERTH_HOSTCOMMAND_NO_FILE = 'N'
};

/* The words of RUN. */
enum berth_hostcommand_word {
    BERTH_HOSTCOMMAND_PROOF,  /* the token */
    BERTH_HOSTCOMMAND_LIMITS, /* step/limits.h */
    BERTH_HOSTCOMMAND_DIRECTORY,
    BERTH_HOSTCOMMAND_NAME, /* and the arguments behind it */
    BERTH_HOSTCOMMAND_WORDS
};
