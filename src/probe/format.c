/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes files from which a container runtime builds an image. */

#include "probe/format.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "probe/runtime.h"

enum { TAR_MAGIC_AT = 257, TAR_END = TAR_MAGIC_AT + 5 };

static const struct format {
    const char *name;
    const char *ending; /* of a file name; NULL: only the magic counts */
    size_t at;
    const char *magic;
    const char *source; /* in front of the path, for `build` */
} formats[] = {
    {"a squashfs file", NULL, 0, "hsqs", ""},
    {"a tar file", NULL, TAR_MAGIC_AT, "ustar", "docker-archive:"},
    {"a recipe", ".def", 0, "Bootstrap:", ""},
    {"a recipe", NULL, 0, "BootStrap:", ""},
};

static const struct format *find(const char *path, int fd)
{
    char start[TAR_END] = {0};

    if (pread(fd, start, sizeof(start), 0) <= 0)
        return NULL;
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (memcmp(start + formats[i].at, formats[i].magic, strlen(formats[i].magic)) ==
                0 ||
            (formats[i].ending && berth_text_ends(path, formats[i].ending)))
            return &formats[i];
    return NULL;
}

/* The name of this host's runtime, in *RET_PATH, which the caller frees, or a constant.
 */
static const char *find_runtime(char **ret_path)
{
    if (berth_runtime_find(NULL, getenv("PATH"), ret_path, NULL) < 0)
        return "apptainer";
    return berth_text_base(*ret_path);
}

int berth_format_refuse(const char *path, int fd, struct berth_err *err)
{
    BERTH_FREE char *runtime = NULL;
    const struct format *format;

    if (!err)
        return -1;
    format = find(path, fd);
    if (!format)
        return berth_err_set(err,
                             "image '%s': not an image; expected a SIF file (made by "
                             "'apptainer build' or 'singularity build') or a sandbox "
                             "directory",
                             path);
    return berth_err_set(
        err,
        "image '%s': %s, not an image; build an image from it: %s build "
        "image.sif %s%s",
        path, format->name, find_runtime(&runtime), format->source, path);
}

int berth_format_refuse_directory(const char *path, struct berth_err *err)
{
    BERTH_FREE char *runtime = NULL;

    if (!err)
        return -1;
    return berth_err_set(err,
                         "image '%s': the directory holds no root file system (no bin, "
                         "usr, etc, lib); expected a sandbox made by '%s build "
                         "--sandbox'",
                         path, find_runtime(&runtime));
}
