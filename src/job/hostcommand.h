/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>

/* The messages by which a program in a container runs a command of the host, such as
 * srun. The program connects to the supervisor of its container (SOCK_SEQPACKET) and
 * sends messages (job/message.h):
 *
 *     RUN       a handover: the token, the soft limits and the working directory of the
 *               program, the command's name, its arguments; and the environment
 *     STREAM    a descriptor, three times: standard input, output and error
 *     FILE      a descriptor: a file that the supervisor asked for
 *     NO_FILE   the same, where it cannot be opened; then, as the kind of a message,
 * errno 1 to 31   then, at any time: the command is to get this signal
 *
 * The supervisor sends an int, BERTH_HOSTCOMMAND_BEGUN, when it has received all of
 * that, and a second int when the command has ended: its status, as wait(2) tells it.
 * If the supervisor cannot start a process, it sends -errno alone. Before the command
 * runs it may ask for files that the command line names: a struct
 * berth_hostcommand_file. When the program ends, its command ends.
 *
 * All users of a node can list the names of such sockets, and programs in the user's
 * closed containers (--contain) can connect. So a program must also know a token: the
 * tasks have NAME.TOKEN in their environment. */
enum { BERTH_HOSTCOMMAND_TOKEN = 32 }; /* hexadecimal digits */

enum { BERTH_HOSTCOMMAND_BEGUN = INT_MIN };

/* The file that the supervisor asks for. The message is longer than an int, and ends
 * behind the path. */
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
