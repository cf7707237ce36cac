/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the network that a rank uses. Reads what the kernel reports about the user's
 * processes. */

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

struct inspection {
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

/* Does PID have one of DEVICES open? Adds the sockets of PID to SOCKETS. */
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

/* Reads TABLE, tcp or tcp6, of the network that PID sees (proc_pid_net(5)). Sets
 * *RET_LISTENS if one of SOCKETS listens, and *RET_LEAVES if one is connected to
 * another host. Ranks of one host use its own address for both ends, so addresses are
 * compared as the kernel prints them. */
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

/* A library opens its device before it connects. So the open files are read once more
 * when there are connections. */
static bool inspect_one(pid_t pid, void *data)
{
    struct inspection *inspection = data;
    struct sockets sockets = {0};
    struct sockets later = {0};

    if (read_open(pid, inspection->devices, &sockets))
        inspection->found = BERTH_NETWORK_DEVICE;
    else if (sockets.count && uses_tcp(pid, &sockets))
        inspection->found = read_open(pid, inspection->devices, &later)
                                ? BERTH_NETWORK_DEVICE
                                : BERTH_NETWORK_TCP;
    free(sockets.inodes);
    free(later.inodes);
    return inspection->found != BERTH_NETWORK_DEVICE;
}

enum berth_network berth_network_inspect(pid_t pid, const struct berth_strvec *devices)
{
    struct inspection inspection = {devices, BERTH_NETWORK_UNKNOWN};

    berth_process_each_below(pid, inspect_one, &inspection);
    return inspection.found;
}
