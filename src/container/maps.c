/* SPDX-License-Identifier: Apache-2.0 */
/* Reads which files a process has mapped. */

#include "container/maps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"

/* Parses LINE, which MAPPING borrows. False: it has no path. */
static bool parse(const char *line, struct berth_mapping *mapping)
{
    unsigned int major_number, minor_number;
    uint64_t inode;
    int path = 0;
    int fields =
        sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
               &mapping->start, &mapping->end, mapping->access, &mapping->offset,
               &major_number, &minor_number, &inode, &path);

    if (fields != 7)
        return false;
    mapping->device = makedev(major_number, minor_number);
    mapping->inode = (ino_t)inode;
    mapping->path = line + path;
    return *mapping->path == '/';
}

void berth_maps_each(pid_t pid, bool (*function)(const struct berth_mapping *, void *),
                     void *data)
{
    char name[32];
    BERTH_FCLOSE FILE *maps = NULL;
    BERTH_FREE char *line = NULL;
    size_t room = 0;
    bool goes_on = true;

    snprintf(name, sizeof(name), "/proc/%d/maps", pid);
    maps = fopen(name, "re");
    while (maps && goes_on && getline(&line, &room, maps) > 0) {
        struct berth_mapping mapping;

        line[strcspn(line, "\n")] = '\0';
        if (parse(line, &mapping))
            goes_on = function(&mapping, data);
    }
}
