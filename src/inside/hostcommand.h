/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The messages by which a program in a container runs a command of the host, such as
 * srun. The program connects to the supervisor of its container (SOCK_SEQPACKET) and
 * sends messages (ipc/message.h):
 *
 *     RUN       descriptors: standard input, output and error; a handover: the token,
 *               the soft limits and the working directory of the program, the command's
 *               name, its arguments; and the environment
 *     1 to 31   then, at any time: the command is to get this signal
 *
 * The supervisor answers, with an int:
 *
 *     BEGUN     when it has received RUN; the int is 0
 *     ENDED     when the command has ended: its status, as wait(2) tells it
 *     FAILED    alone, if it cannot start a process: errno
 *
 * When the program ends, its command ends.
 *
 * All users of a node can list the names of such sockets, and programs in the user's
 * closed containers (--contain) can connect. So a program must also know a token: the
 * tasks have NAME.TOKEN in their environment. */
enum { BERTH_HOSTCOMMAND_TOKEN = 32 }; /* hexadecimal digits */

enum berth_hostcommand_kind {
    BERTH_HOSTCOMMAND_BEGUN = 'B',
    BERTH_HOSTCOMMAND_ENDED = 'E',
    BERTH_HOSTCOMMAND_FAILED = 'F',
    BERTH_HOSTCOMMAND_RUN = 'R'
};

/* The descriptors of RUN, after those of the streams by their numbers. */
enum { BERTH_HOSTCOMMAND_HANDOVER = 3, BERTH_HOSTCOMMAND_FDS };

/* The words of RUN. */
enum berth_hostcommand_word {
    BERTH_HOSTCOMMAND_PROOF,  /* the token */
    BERTH_HOSTCOMMAND_LIMITS, /* container/limits.h */
    BERTH_HOSTCOMMAND_DIRECTORY,
    BERTH_HOSTCOMMAND_NAME, /* and the arguments after it */
    BERTH_HOSTCOMMAND_WORDS
};
