/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of the tree that berth runs from. */

#include "base/installed.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strvec.h"
#include "base/text.h"

/* Cut PLACE, a directory of configure's, off the end of DIRECTORY: the prefix remains.
 * Returns false if DIRECTORY does not end so. */
static bool cut(char *directory, const char *place)
{
    const char *inner;

    if (!berth_text_starts(place, BERTH_PREFIX "/"))
        return false;
    inner = place + strlen(BERTH_PREFIX);
    if (!berth_text_ends(directory, inner))
        return false;
    directory[strlen(directory) - strlen(inner)] = '\0';
    return true;
}

/* The copy has the path as its name, and the kernel writes "/memfd:NAME (deleted)". */
const char *berth_installed_self(void)
{
    static const char memory[] = "/memfd:";
    static const char deleted[] = " (deleted)";
    static char own[4096]; /* as the kernel has it: another tree may be there by now */
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);

    if (length < 0)
        return NULL;
    own[length] = '\0';
    if (!berth_text_starts(own, memory))
        return own;
    if (berth_text_ends(own, deleted))
        own[length - (ssize_t)strlen(deleted)] = '\0';
    return own + strlen(memory);
}

const char *berth_installed(const char *path)
{
    static struct berth_strvec found;
    const char *self = berth_installed_self();
    BERTH_FREE char *own = strdup(self ? self : "");
    char *name = own ? strrchr(own, '/') : NULL;

    /* A program of another name uses berth as a library: a test. */
    if (!name || !berth_text_starts(name, "/berth"))
        return path;
    if (!berth_text_starts(path, BERTH_PREFIX "/"))
        return path;
    *name = '\0';
    if (!cut(own, BERTH_BINDIR) && !cut(own, BERTH_LIBEXECDIR))
        return path;
    berth_strvec_pushf(&found, "%s%s", own, path + strlen(BERTH_PREFIX));
    return found.failed ? path : found.items[found.count - 1];
}
