/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether the process at the other side of a socket is on the host. */

#include "ipc/peer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <poll.h>
#include <stdint.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/tree.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

struct ucred berth_peer_of(int socket)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
        peer = (struct ucred){.pid = -1, .uid = (uid_t)-1};
    return peer;
}

int berth_peer_accept(int listening)
{
    enum { AGAIN_MS = 100 };
    int socket = accept4(listening, NULL, NULL, SOCK_CLOEXEC);

    if (socket < 0 && errno != EAGAIN)
        poll(NULL, 0, AGAIN_MS);
    if (socket < 0 || berth_peer_of(socket).uid == getuid())
        return socket;
    close(socket);
    return -1;
}

int berth_peer_name(int socket)
{
    const struct sockaddr_un address = {.sun_family = AF_UNIX};

    return bind(socket, (const struct sockaddr *)&address, sizeof(sa_family_t));
}

/* The sockets of this network namespace, as sock_diag(7) lists them. */
struct listing {
    const char *name; /* that is looked for, of `length` bytes; the first is '\0' */
    size_t length;
    int count; /* that have the name */
    unsigned long inode;
};

/* Is the name in PART that of LISTING? */
static bool has_name(const struct nlattr *part, const struct listing *listing)
{
    return part->nla_type == UNIX_DIAG_NAME &&
           part->nla_len == NLA_HDRLEN + listing->length &&
           memcmp((const char *)part + NLA_HDRLEN, listing->name, listing->length) == 0;
}

/* Look at the socket in MESSAGE. */
static void look_at(const struct nlmsghdr *message, struct listing *listing)
{
    const struct unix_diag_msg *found = NLMSG_DATA(message);
    size_t at = NLMSG_LENGTH(sizeof(*found));

    while (at + NLA_HDRLEN <= message->nlmsg_len) {
        const struct nlattr *part = (const struct nlattr *)((const char *)message + at);

        if (part->nla_len < NLA_HDRLEN || part->nla_len > message->nlmsg_len - at)
            return;
        if (found->udiag_type == SOCK_SEQPACKET && has_name(part, listing)) {
            listing->inode = found->udiag_ino;
            listing->count++;
        }
        at += NLA_ALIGN(part->nla_len);
    }
}

static int ask_for_sockets(int diag, bool is_listener)
{
    const uint32_t listens = 1 << 10; /* TCP_LISTEN of the kernel */
    const uint32_t states = is_listener ? listens : ~listens;
    const struct {
        struct nlmsghdr header;
        struct unix_diag_req question;
    } message = {
        .header = {.nlmsg_len = sizeof(message),
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .question = {.sdiag_family = AF_UNIX,
                     .udiag_states = states,
                     .udiag_show = UDIAG_SHOW_NAME},
    };

    if (send(diag, &message, sizeof(message), 0) != sizeof(message))
        return -1;
    return 0;
}

/* The result of the list, in its last MESSAGE: 0, or -1. */
static int result_of(const struct nlmsghdr *message)
{
    const int *error = NLMSG_DATA(message);

    if (*error < 0)
        return -1;
    return 0;
}

/* List the sockets. Returns 0; -1: the kernel cannot, or the list has changed so that
 * it is not whole. */
static int list_sockets(bool is_listener, struct listing *listing)
{
    BERTH_CLOSE int diag =
        socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    union {
        struct nlmsghdr first;
        char bytes[32768];
    } part;

    if (diag < 0 || ask_for_sockets(diag, is_listener) < 0)
        return -1;
    for (;;) {
        ssize_t got = recv(diag, &part, sizeof(part), 0);
        const struct nlmsghdr *message = &part.first;

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        for (; NLMSG_OK(message, (size_t)got); message = NLMSG_NEXT(message, got)) {
            if (message->nlmsg_type == NLMSG_DONE)
                return result_of(message);
            if (message->nlmsg_type != SOCK_DIAG_BY_FAMILY)
                return -1;
            look_at(message, listing);
        }
    }
}

/* The same in /proc/net/unix, for a kernel that lacks the module unix_diag: NAME is as
 * it is there, with @ for the first byte. Names may have a line break in them, and so
 * look like further lines: if several lines fit, there is no answer. */
static int find_inode_in_text(const char *name, bool is_listener,
                              unsigned long *ret_inode)
{
    enum { MOST = 64 << 20, LISTENS = 1 << 16 }; /* __SO_ACCEPTCON of the kernel */
    BERTH_BUF struct berth_buf text = {0};
    char *rest, *line;
    unsigned long found = 0;
    int count = 0;

    if (berth_fd_read_path("/proc/net/unix", MOST, &text) < 0)
        return -1;
    berth_buf_add(&text, "", 1);
    if (text.failed)
        return -1;
    rest = text.text;
    for (line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        unsigned int flags = 0;
        unsigned long inode = 0;
        int used = 0;
        int fields =
            sscanf(line, "%*[^:]: %*x %*x %x %*x %*x %lu%n", &flags, &inode, &used);
        bool listens = (flags & LISTENS) != 0;

        if (fields != 2 || listens != is_listener)
            continue;
        if (line[used] != ' ' || strcmp(line + used + 1, name) != 0)
            continue;
        found = inode;
        count++;
    }
    if (count != 1)
        return -1;
    *ret_inode = found;
    return 0;
}

/* Find the inode of the socket at ADDRESS. Returns 0, or -1. */
static int find_inode(const struct berth_address *address, bool is_listener,
                      unsigned long *ret_inode)
{
    const char *path = address->name.sun_path;
    struct listing listing = {.name = path,
                              .length = address->length -
                                        offsetof(struct sockaddr_un, sun_path)};
    char name[sizeof(address->name.sun_path) + 1] = "@";

    if (list_sockets(is_listener, &listing) < 0) {
        memcpy(name + 1, path + 1, listing.length - 1);
        return find_inode_in_text(name, is_listener, ret_inode);
    }
    if (listing.count != 1)
        return -1;
    *ret_inode = listing.inode;
    return 0;
}

/* Is the link NAME of the directory FD to TARGET? */
static bool leads_to(int fd, const char *name, const char *target)
{
    char seen[64];
    ssize_t count = readlinkat(fd, name, seen, sizeof(seen) - 1);

    if (count < 0)
        return false;
    seen[count] = '\0';
    return strcmp(seen, target) == 0;
}

/* Does the process of the directory PROCESS have the socket INODE open? */
static bool has_socket(int process, unsigned long inode)
{
    char wanted[64];
    BERTH_CLOSEDIR DIR *descriptors = berth_tree_list(process, "fd");
    const struct dirent *entry;

    if (!descriptors)
        return false;
    snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
    for (entry = readdir(descriptors); entry; entry = readdir(descriptors))
        if (leads_to(dirfd(descriptors), entry->d_name, wanted))
            return true;
    return false;
}

bool berth_peer_holds(int process, const struct berth_address *address,
                      bool is_listener)
{
    unsigned long inode;

    if (find_inode(address, is_listener, &inode) < 0)
        return false;
    return has_socket(process, inode);
}

/* Is PROCESS, the directory of a process with the number of the peer, that of the peer?
 * The directory stays that of one process, also when its number is another's. */
static bool is_peer(int socket, int process, bool is_listener)
{
    BERTH_CLOSE int peer = -1;
    struct berth_address address;
    socklen_t length = sizeof(peer);

    /* a peer that lives now had its number when the directory was opened */
    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &peer, &length) == 0)
        return poll(&(struct pollfd){.fd = peer, .events = POLLIN}, 1, 0) == 0;
    if (errno != ENOPROTOOPT)
        return false;
    if (berth_address_of_peer(socket, &address) < 0)
        return false;
    return berth_peer_holds(process, &address, is_listener);
}

/* Is PROCESS in the namespace at PATH of its directory with the caller? */
static enum berth_peer compare(int process, const char *path)
{
    BERTH_CLOSE int caller = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat ours, theirs;

    if (fstatat(caller, path, &ours, 0) < 0)
        return BERTH_PEER_GONE;
    if (fstatat(process, path, &theirs, 0) < 0) {
        if (errno == EACCES) /* it is protected from the caller, as ptrace(2) says */
            return BERTH_PEER_OTHER;
        return BERTH_PEER_GONE;
    }
    if (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
        return BERTH_PEER_OTHER;
    return BERTH_PEER_OWN;
}

static enum berth_peer examine(int socket, bool is_listener)
{
    const struct ucred peer = berth_peer_of(socket);
    BERTH_CLOSE int process = -1;
    enum berth_peer user, mounts;
    char path[32];

    if (peer.uid != geteuid())
        return BERTH_PEER_OTHER;
    if (peer.pid <= 0) /* it is in a process namespace that the caller does not see */
        return BERTH_PEER_OTHER;
    snprintf(path, sizeof(path), "/proc/%d", peer.pid);
    process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (process < 0)
        return BERTH_PEER_GONE;

    user = compare(process, "ns/user");
    mounts = compare(process, "ns/mnt");
    if (user == BERTH_PEER_OTHER || mounts == BERTH_PEER_OTHER)
        return BERTH_PEER_OTHER;
    if (user == BERTH_PEER_GONE || mounts == BERTH_PEER_GONE)
        return BERTH_PEER_GONE;
    if (!is_peer(socket, process, is_listener))
        return BERTH_PEER_GONE;
    return BERTH_PEER_OWN;
}

enum berth_peer berth_peer_server(int socket)
{
    return examine(socket, true);
}

enum berth_peer berth_peer_client(int socket)
{
    return examine(socket, false);
}
