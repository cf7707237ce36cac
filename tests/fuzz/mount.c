/* SPDX-License-Identifier: Apache-2.0 */
/* Anybody's bytes, read as the value of --container-mounts. */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fuzz.h"
#include "request/mount.h"

/* The full form of a mount is read as the same mount, wherever it is read. */
static void try_full(const char *full)
{
    BERTH_STRVEC struct berth_strvec again = {0};
    struct berth_mount mount;

    must(berth_mount_parse(full, NULL, &mount, NULL) == 0);
    must(*mount.source == '/' && *mount.destination == '/');
    must(strlen(full) == strlen(mount.source) + strlen(mount.destination) + 4);
    berth_mount_fini(&mount);
    if (!strchr(full, ',')) {
        must(berth_mount_parse_list(full, NULL, &again, NULL) == 0);
        must(again.count == 1 && strcmp(again.items[0], full) == 0);
    }
}

static void try_list(const char *text, const char *base)
{
    BERTH_STRVEC struct berth_strvec mounts = {0};
    struct berth_err err = {0};

    if (berth_mount_parse_list(text, base, &mounts, &err) < 0) {
        must(*err.text);
        return;
    }
    for (size_t i = 0; i < mounts.count; i++)
        try_full(mounts.items[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    BERTH_FREE char *text = text_of(data, size);

    try_list(text, NULL);
    try_list(text, "/home/a b");
    return 0;
}
