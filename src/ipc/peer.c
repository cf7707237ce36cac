/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether the process at the other side of a socket is on the host. */

#include "ipc/peer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "ipc/message.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

int berth_peer_name(int socket)
{
    const struct sockaddr_un address = {.sun_family = AF_UNIX};

    return bind(socket, (const struct sockaddr *)&address, sizeof(sa_family_t));
}

/* Find the inode of the socket NAME, as /proc/net/unix has it: with @ for the first
 * byte. Names may have a line break in them, and so look like further lines: if several
 * lines fit, there is no answer. Returns 0, or -1. */
static int find_inode(const char *name, bool is_listener, unsigned long *ret_inode)
{
    enum { MOST = 64 << 20, LISTENS = 1 << 16 }; /* __SO_ACCEPTCON of the kernel */
    BERTH_BUF struct berth_buf text = {0};
    char *rest, *line;
    int count = 0;

    if (berth_fd_read_path("/proc/net/unix", MOST, &text) < 0)
        return -1;
    berth_buf_add(&text, "", 1);
    if (text.failed)
        return -1;
    rest = text.text;
    while ((line = strsep(&rest, "\n"))) {
        unsigned int flags;
        unsigned long inode;
        int used = 0;

        if (sscanf(line, "%*[^:]: %*x %*x %x %*x %*x %lu%n", &flags, &inode, &used) !=
            2)
            continue;
        if (line[used] != ' ' || strcmp(line + used + 1, name) != 0)
            continue;
        if (((flags & LISTENS) != 0) != is_listener)
            continue;
        *ret_inode = inode;
        count++;
    }
    return count == 1 ? 0 : -1;
}

bool berth_peer_holds(int process, const struct sockaddr_un *address, socklen_t length,
                      bool is_listener)
{
    const size_t before = offsetof(struct sockaddr_un, sun_path);
    char name[sizeof(address->sun_path) + 1] = "@";
    char wanted[64];
    BERTH_CLOSEDIR DIR *descriptors = NULL;
    struct dirent *entry;
    unsigned long inode;
    int fd;

    if (length <= before + 1 || length > sizeof(*address) || *address->sun_path)
        return false; /* it has no name, or one of a file */
    memcpy(name + 1, address->sun_path + 1, length - before - 1);
    if (find_inode(name, is_listener, &inode) < 0)
        return false;

    fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    descriptors = fd < 0 ? NULL : fdopendir(fd);
    if (!descriptors)
        return false;
    snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
    while ((entry = readdir(descriptors))) {
        char target[64];
        ssize_t count = readlinkat(fd, entry->d_name, target, sizeof(target) - 1);

        if (count < 0)
            continue;
        target[count] = '\0';
        if (strcmp(target, wanted) == 0)
            return true;
    }
    return false;
}

/* Is PROCESS, the directory of a process with the number of the peer, that of the peer?
 * The directory stays that of one process, also when its number is another's. */
static bool is_peer(int socket, int process, bool is_listener)
{
    BERTH_CLOSE int peer = -1;
    struct sockaddr_un address;
    socklen_t length = sizeof(peer);

    /* a peer that lives now had its number when the directory was opened */
    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &peer, &length) == 0)
        return poll(&(struct pollfd){.fd = peer, .events = POLLIN}, 1, 0) == 0;
    if (errno != ENOPROTOOPT)
        return false;
    length = sizeof(address);
    return getpeername(socket, (struct sockaddr *)&address, &length) == 0 &&
           berth_peer_holds(process, &address, length, is_listener);
}

/* Is PROCESS in the namespace at PATH of its directory with the caller? */
static enum berth_peer compare(int process, const char *path)
{
    BERTH_CLOSE int own_process = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat own, theirs;

    if (fstatat(own_process, path, &own, 0) < 0)
        return BERTH_PEER_GONE;
    if (fstatat(process, path, &theirs, 0) < 0)
        return errno == EACCES ? BERTH_PEER_OTHER : BERTH_PEER_GONE; /* ptrace(2) */
    return own.st_dev == theirs.st_dev && own.st_ino == theirs.st_ino
               ? BERTH_PEER_OWN
               : BERTH_PEER_OTHER;
}

static enum berth_peer examine(int socket, bool is_listener)
{
    const struct ucred peer = berth_job_peer(socket);
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
    return is_peer(socket, process, is_listener) ? BERTH_PEER_OWN : BERTH_PEER_GONE;
}

enum berth_peer berth_peer_server(int socket)
{
    return examine(socket, true);
}

enum berth_peer berth_peer_client(int socket)
{
    return examine(socket, false);
}
