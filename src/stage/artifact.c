/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the artifact of a site. */

#include "stage/artifact.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/resolve.h"
#include "base/text.h"
#include "discover/searchpath.h"
#include "elf/facts.h"
#include "probe/siteread.h"
#include "probe/trusted.h"
#include "request/path.h"

bool berth_artifact_allows(const struct berth_stack *stack, const char *path)
{
    const char *artifact = berth_profile_artifact(stack->profile);
    BERTH_FREE char *real = artifact ? realpath(path, NULL) : NULL;

    return !artifact || (real && berth_path_is_within(real, artifact));
}

static int check_owner(const char *artifact, const char *path, struct berth_err *err)
{
    const char *name =
        berth_path_is_within(path, artifact) ? path + strlen(artifact) : "";
    struct stat facts;

    if (stat(path, &facts) < 0)
        return berth_err_set(err, "'%s': %s", path, strerror(errno));
    /* In a directory with the sticky bit others cannot replace a file, but add one. */
    facts.st_mode &= ~(mode_t)S_ISVTX;
    return berth_trusted_check(artifact, *name ? name + 1 : path, &facts,
                               berth_site_owner(), err);
}

/* Adds the directories from that of FILE up to ARTIFACT. */
static int add_above(const char *artifact, const char *file,
                     struct berth_gathered *gathered, struct berth_err *err)
{
    BERTH_FREE char *path = strdup(file);

    while (path && strlen(path) > strlen(artifact)) {
        *strrchr(path, '/') = '\0';
        berth_strvec_push_once(&gathered->directories, path);
    }
    return path && !gathered->directories.failed ? 0 : berth_err_oom(err);
}

/* Does a directory of the search path SEARCH that is in ARTIFACT have SONAME? */
static bool finds(const char *search, const char *artifact, const char *soname)
{
    BERTH_FREE char *copy = strdup(search);
    char *next = copy;
    const char *directory;

    while (next && (directory = strsep(&next, ":"))) {
        BERTH_FREE char *path = NULL;

        if (berth_path_is_within(directory, artifact) &&
            asprintf(&path, "%s/%s", directory, soname) > 0 && access(path, R_OK) == 0)
            return true;
    }
    return false;
}

/* Is SONAME a library of GATHERED? */
static bool has_library(const struct berth_gathered *gathered, const char *soname)
{
    for (size_t i = 0; i < gathered->count; i++)
        if (strcmp(berth_text_base(gathered->files[i].file), soname) == 0)
            return gathered->files[i].patched;
    return false;
}

/* A file that is mounted over one of the image seems to be in the image's directory,
 * where $ORIGIN leads to the image's libraries. */
static int check_search(const char *artifact, const char *path,
                        const struct berth_elf *elf,
                        const struct berth_gathered *gathered, struct berth_err *err)
{
    const char *search = elf->runpath ? elf->runpath : elf->rpath ? elf->rpath : "";

    for (size_t i = 0; i < elf->needed.count; i++) {
        const char *soname = elf->needed.items[i];

        if (has_library(gathered, soname) && !finds(search, artifact, soname))
            return berth_err_set(
                err,
                "'%s': searches '%s' in '%s', and not by an absolute path in '%s'; set "
                "its search path with patchelf, or write prefix in the place of "
                "artifact, and berth copies it",
                path, soname, search, artifact);
    }
    return 0;
}

static int check_library(const char *artifact, const char *path,
                         const struct berth_gathered *gathered, struct berth_err *err)
{
    struct utsname system;
    struct berth_elf elf;
    int result = 0;

    if (berth_elf_read_path(path, &berth_elf_no_symbols, &elf, err) < 0)
        return -1;
    if (uname(&system) == 0 && elf.machine && strcmp(elf.machine, system.machine) != 0)
        result = berth_err_set(err, "'%s': is for %s, and this machine is %s", path,
                               elf.machine, system.machine);
    if (result == 0)
        result = berth_searchpath_check(artifact, path, &elf, err);
    if (result == 0)
        result = check_search(artifact, path, &elf, gathered, err);
    berth_elf_fini(&elf);
    return result;
}

int berth_artifact_check(const struct berth_stack *stack,
                         struct berth_gathered *gathered, struct berth_err *err)
{
    const char *artifact = berth_profile_artifact(stack->profile);

    for (size_t i = 0; i < gathered->count; i++) {
        const struct berth_gathered_file *file = &gathered->files[i];

        if (add_above(artifact, file->source, gathered, err) < 0 ||
            check_owner(artifact, file->source, err) < 0 ||
            (file->patched && check_library(artifact, file->source, gathered, err) < 0))
            return -1;
    }
    for (size_t i = 0; i < gathered->directories.count; i++)
        if (check_owner(artifact, gathered->directories.items[i], err) < 0)
            return -1;
    return 0;
}
