/* SPDX-License-Identifier: Apache-2.0 */
/* The value of --container-mounts: from text to source, destination and mode. Does not
 * check whether the source exists. */

#include "request/mount.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "request/path.h"

static const char *const modes[] = {
    [BERTH_MOUNT_RW] = "rw", [BERTH_MOUNT_RO] = "ro", [BERTH_MOUNT_SQSH] = "sqsh"};

enum { MODES = sizeof(modes) / sizeof(modes[0]) };

#define EXPECTED "SRC[:DST[:ro|rw|sqsh]], DST from / and not / itself"

static int read_mode(const char *mode, const char *text, int *ret,
                     struct berth_err *err)
{
    for (*ret = 0; *ret < MODES; ++*ret)
        if (strcmp(mode, modes[*ret]) == 0)
            return 0;
    return berth_err_expected(err, EXPECTED, text);
}

int berth_mount_parse(const char *text, const char *base, struct berth_mount *ret_mount,
                      struct berth_err *err)
{
    BERTH_FREE char *copy = strdup(text);
    BERTH_FREE char *source = NULL;
    BERTH_FREE char *destination = NULL;
    char *field[4] = {0};
    char *rest = copy;
    int mode = BERTH_MOUNT_RW;
    int count = 0;

    if (!copy)
        return berth_err_oom(err);
    while (rest && count < 4)
        field[count++] = strsep(&rest, ":");
    if (count > 3 || *field[0] == '\0' || (count > 1 && *field[1] == '\0'))
        return berth_err_expected(err, EXPECTED, text);
    if (count == 3 && read_mode(field[2], text, &mode, err) < 0)
        return -1;
    if (strcmp(field[0], "tmpfs") == 0)
        return berth_err_set(err,
                             "'%s': tmpfs is not a source; for a scratch directory "
                             "write --container-args=--scratch=%s (a path: ./tmpfs)",
                             text, count > 1 ? field[1] : "/tmp");
    if (berth_path_absolute(field[0], base, &source, err) < 0)
        return berth_err_at(err, "'%s'", text);
    if (count > 1 && *field[1] != '/')
        return berth_err_expected(err, EXPECTED, text);
    destination = strdup(count > 1 ? field[1] : source);
    if (!destination)
        return berth_err_oom(err);
    if (destination[strspn(destination, "/")] == '\0')
        return berth_err_expected(err, EXPECTED, text);
    *ret_mount = (struct berth_mount){
        .source = berth_steal(&source),
        .destination = berth_steal(&destination),
        .mode = (enum berth_mount_mode)mode,
    };
    return 0;
}

int berth_mount_append(const char *text, const char *base, struct berth_strvec *mounts,
                       struct berth_err *err)
{
    BERTH_MOUNT struct berth_mount mount = {0};

    if (berth_mount_parse(text, base, &mount, err) < 0)
        return -1;
    berth_mount_push(&mount, NULL, mounts);
    return mounts->failed ? berth_err_oom(err) : 0;
}

int berth_mount_parse_list(const char *text, const char *base,
                           struct berth_strvec *mounts, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec items = {0};

    berth_strvec_split(&items, text);
    for (size_t i = 0; i < items.count; i++)
        if (berth_mount_append(items.items[i], base, mounts, err) < 0)
            return -1;
    return items.failed ? berth_err_oom(err) : 0;
}

void berth_mount_push(const struct berth_mount *mount, const char *source,
                      struct berth_strvec *mounts)
{
    berth_strvec_pushf(mounts, "%s:%s:%s", source ? source : mount->source,
                       mount->destination, modes[mount->mode]);
}

void berth_mount_fini(struct berth_mount *mount)
{
    free(mount->source);
    free(mount->destination);
    *mount = (struct berth_mount){0};
}
