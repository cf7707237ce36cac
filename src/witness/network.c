/* SPDX-License-Identifier: Apache-2.0 */
/* Which network a rank uses. Reads what the kernel says of the user's processes. */

#include "witness/network.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "step/processes.h"

enum { PATH_SIZE = 64, LINK_SIZE = 256, ADDRESS_SIZE = 33 };

/* The states of include/net/tcp_states.h in Linux. */
enum { ESTABLISHED = 1, LISTENING = 10 };

struct look {
    const struct berth_strvec *devices;
    enum berth_network found;
};

struct sockets {
    unsigned long long *inodes;
    size_t count, room;
};

static bool is_device(const struct berth_strvec *devices, const char *path)
{
    for (size_t i = 0; i < devices->count; i++)
        if (fnmatch(devices->items[i], path, FNM_PATHNAME) == 0)
            return true;
    return false;
}

/* Has PID one of DEVICES open? Its sockets are added to SOCKETS. */
static bool read_open(pid_t pid, const struct berth_strvec *devices,
                      struct sockets *sockets)
{
    char name[PATH_SIZE], path[LINK_SIZE];
    struct dirent *entry;
    bool found = false;
    DIR *open;

    snprintf(name, sizeof(name), "/proc/%d/fd", pid);
    open = opendir(name);
    while (open && !found && (entry = readdir(open))) {
        ssize_t length = readlinkat(dirfd(open), entry->d_name, path, sizeof(path) - 1);
        unsigned long long inode;

        path[length > 0 ? length : 0] = '\0';
        found = is_device(devices, path);
        if (sscanf(path, "socket:[%llu]", &inode) == 1 &&
            berth_grow(&sockets->inodes, sockets->count, &sockets->room,
                       sizeof(inode)) == 0)
            sockets->inodes[sockets->count++] = inode;
    }
    if (open)
        closedir(open);
    return found;
}

static bool has_socket(const struct sockets *sockets, unsigned long long inode)
{
    for (size_t i = 0; i < sockets->count; i++)
        if (sockets->inodes[i] == inode)
            return true;
    return false;
}

/* TABLE: tcp or tcp6 of the network that PID sees (proc_pid_net(5)). Adds whether
 * SOCKETS has one that listens, and one to another host. Addresses are compared as the
 * kernel prints them: ranks of one host call each other by its own. */
static void read_table(pid_t pid, const char *table, const struct sockets *sockets,
                       bool *ret_listens, bool *ret_leaves)
{
    char name[PATH_SIZE];
    BERTH_FCLOSE FILE *file = NULL;
    BERTH_FREE char *line = NULL;
    size_t room = 0;

    snprintf(name, sizeof(name), "/proc/%d/net/%s", pid, table);
    file = fopen(name, "re");
    while (file && getline(&line, &room, file) > 0) {
        char local[ADDRESS_SIZE], remote[ADDRESS_SIZE];
        unsigned int state;
        unsigned long long inode;

        if (sscanf(line,
                   " %*d: %32[0-9A-F]:%*x %32[0-9A-F]:%*x %x %*x:%*x %*x:%*x %*x %*u "
                   "%*u %llu",
                   local, remote, &state, &inode) != 4 ||
            !has_socket(sockets, inode))
            continue;
        *ret_listens |= state == LISTENING;
        *ret_leaves |= state == ESTABLISHED && strcmp(local, remote) != 0;
    }
}

static bool uses_tcp(pid_t pid, const struct sockets *sockets)
{
    bool listens = false;
    bool leaves = false;

    read_table(pid, "tcp", sockets, &listens, &leaves);
    read_table(pid, "tcp6", sockets, &listens, &leaves);
    return listens && leaves;
}

/* A device is opened before the first message is sent, so it is looked for once more
 * when there are connections. */
static bool look_at(pid_t pid, void *data)
{
    struct look *look = data;
    struct sockets sockets = {0};
    struct sockets later = {0};

    if (read_open(pid, look->devices, &sockets))
        look->found = BERTH_NETWORK_DEVICE;
    else if (sockets.count && uses_tcp(pid, &sockets))
        look->found = read_open(pid, look->devices, &later) ? BERTH_NETWORK_DEVICE
                                                            : BERTH_NETWORK_TCP;
    free(sockets.inodes);
    free(later.inodes);
    return look->found != BERTH_NETWORK_DEVICE;
}

enum berth_network berth_network_look(pid_t pid, const struct berth_strvec *devices)
{
    struct look look = {devices, BERTH_NETWORK_UNKNOWN};

    berth_process_each_below(pid, look_at, &look);
    return look.found;
}
