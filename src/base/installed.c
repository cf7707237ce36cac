/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of the tree that berth runs from. */

#include "base/installed.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/strvec.h"

/* Cut PLACE, a directory of configure's, off the end of DIRECTORY: the prefix remains.
 * Returns false if DIRECTORY does not end so. */
static bool cut(char *directory, const char *place)
{
    const char *inner = place + strlen(BERTH_PREFIX);
    char *end = directory + strlen(directory) - strlen(inner);

    if (strncmp(place, BERTH_PREFIX "/", strlen(BERTH_PREFIX "/")) != 0 ||
        end < directory || strcmp(end, inner) != 0)
        return false;
    *end = '\0';
    return true;
}

const char *berth_installed(const char *path)
{
    static struct berth_strvec found;
    char own[4096]; /* as the kernel has it: another tree may be there by now */
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    char *name;

    own[length > 0 ? length : 0] = '\0';
    name = strrchr(own, '/');
    if (!name || strncmp(name, "/berth", strlen("/berth")) != 0 ||
        strncmp(path, BERTH_PREFIX "/", strlen(BERTH_PREFIX "/")) != 0)
        return path;
    *name = '\0';
    if (!cut(own, BERTH_BINDIR) && !cut(own, BERTH_LIBEXECDIR))
        return path;
    berth_strvec_pushf(&found, "%s%s", own, path + strlen(BERTH_PREFIX));
    return found.failed ? path : found.items[found.count - 1];
}
