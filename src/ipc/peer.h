/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

#include "ipc/address.h"

/* Who is at the other side of a socket with an abstract name (unix(7))? Containers
 * share these names with the host: a program in an image can bind each of them, and
 * connect to each, with the uid of its user. What it cannot have is the user and the
 * mount namespace of a process on the host. */

/* The process that opened the other side of SOCKET, and its user (SO_PEERCRED,
 * unix(7)); if the other side was a listener: who called listen(). The number may be
 * another process's by now. -1 and (uid_t)-1: nobody can tell. */
struct ucred berth_peer_of(int socket);

/* Accept a connection of a process of this user. Returns a socket, closed on exec; -1:
 * there is none. A connection that cannot be accepted stays in the queue, so this waits
 * a moment, or the loop around it would spin. */
int berth_peer_accept(int listening);

enum berth_peer {
    BERTH_PEER_OWN,   /* a process of this user, in the namespaces of the caller */
    BERTH_PEER_OTHER, /* another user's, or in other namespaces: a program in an image
                       */
    BERTH_PEER_GONE   /* it has ended, or nobody can tell */
};

/* Who is the server at the other side of SOCKET, the process that has called listen(2)?
 * Who is the client, which has called connect(2)? Ask before anything is sent or read.
 * Another process may have the number of one that has ended: before Linux 6.5 this
 * looks for the socket of the other side in its process, so a client must have called
 * berth_peer_name(). */
enum berth_peer berth_peer_server(int socket);
enum berth_peer berth_peer_client(int socket);

/* Give SOCKET, before it connects, a name that the kernel chooses. Returns 0, or -1
 * with errno. */
int berth_peer_name(int socket);

/* Has the process of PROCESS, a descriptor of its directory in /proc, the socket at
 * ADDRESS open, a listener or not? No, if several sockets have that name. */
bool berth_peer_holds(int process, const struct berth_address *address,
                      bool is_listener);
