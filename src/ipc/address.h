/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

/* An address in the abstract namespace (unix(7)): a name that is no file, and is free
 * again when its socket is closed. Containers share these names with the host, and each
 * user can take one, so ask who is at the other side (ipc/peer.h). */
struct berth_address {
    struct sockaddr_un name; /* the first byte of its path is NUL */
    socklen_t length;        /* as bind(2) takes it; no NUL ends the name */
};

/* Make the address with the name that FORMAT gives. Returns 0, or -1 if the name has
 * more than 106 bytes. */
int berth_address_make(struct berth_address *ret, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Find the address of the socket FD, or of its other side. Returns 0, or -1: it has no
 * abstract name. */
int berth_address_of(int fd, struct berth_address *ret);
int berth_address_of_peer(int fd, struct berth_address *ret);

/* Returns the name as text, for messages and variables. Belongs to ADDRESS. */
const char *berth_address_text(const struct berth_address *address);

/* bind(2) and connect(2): return 0, or -1 with errno. */
int berth_address_bind(int fd, const struct berth_address *address);
int berth_address_connect(int fd, const struct berth_address *address);
