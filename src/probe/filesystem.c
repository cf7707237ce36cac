/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether hosts share a file system, by its type in mountinfo: statfs(2) has
 * the same number for all types of FUSE. */

#include "probe/filesystem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

static bool is_shared(const char *type)
{
    static const char *const shared[] = {
        "afs",   "beegfs", "ceph",      "ceph-fuse", "cifs", "dvs",  "fhgfs",
        "gfs2",  "gpfs",   "glusterfs", "lustre",    "nfs",  "nfs4", "ocfs2",
        "panfs", "pvfs2",  "smb3",      "wekafs",    NULL};

    if (berth_text_starts(type, "fuse."))
        type += strlen("fuse.");
    return berth_text_is_any(type, shared);
}

/* proc_pid_mountinfo(5) */
bool berth_filesystem_read(const char *line, int mount, bool *ret_shared)
{
    const char *end = strstr(line, " - ");
    char place[3];
    char type[64];

    if (atoi(line) != mount || sscanf(line, "%*s %*s %*s %*s %2s", place) != 1 ||
        !end || sscanf(end, " - %63s", type) != 1)
        return false;
    *ret_shared = is_shared(type) && strcmp(place, "/") != 0;
    return true;
}

/* The id of the mount that FD is in; -1: not known. */
static int mount_of(int fd)
{
    BERTH_FCLOSE FILE *facts = NULL;
    BERTH_FREE char *line = NULL;
    char name[64];
    size_t room = 0;
    int mount;

    snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
    facts = fopen(name, "re");
    while (facts && getline(&line, &room, facts) > 0)
        if (sscanf(line, "mnt_id: %d", &mount) == 1)
            return mount;
    return -1;
}

bool berth_filesystem_is_shared(int fd)
{
    BERTH_FCLOSE FILE *mounts = fopen("/proc/self/mountinfo", "re");
    BERTH_FREE char *line = NULL;
    int mount = mount_of(fd);
    size_t room = 0;
    bool shared;

    while (mounts && getline(&line, &room, mounts) > 0)
        if (berth_filesystem_read(line, mount, &shared))
            return shared;
    return false;
}
