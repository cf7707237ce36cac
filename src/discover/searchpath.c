/* SPDX-License-Identifier: Apache-2.0 */
/* Checks where the libraries of an artifact search others. */

#include "discover/searchpath.h"

#include <fts.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "request/path.h"

/* Does ENTRY of a search path lead into ARTIFACT, or beside the file that has it? An
 * empty one is the working directory. */
static bool is_inside(const char *artifact, const char *entry)
{
    static const char *const beside[] = {"$ORIGIN", "${ORIGIN}", NULL};
    BERTH_FREE char *real = *entry == '/' ? realpath(entry, NULL) : NULL;

    if (berth_text_starts_any(entry, beside))
        return true;
    return real ? berth_path_is_within(real, artifact)
                : berth_path_is_within(entry, artifact) && !strstr(entry, "/..");
}

int berth_searchpath_check(const char *artifact, const char *path,
                           const struct berth_elf *elf, struct berth_err *err)
{
    const char *const searches[] = {elf->rpath, elf->runpath};

    for (size_t i = 0; i < sizeof(searches) / sizeof(searches[0]); i++) {
        BERTH_FREE char *copy =
            searches[i] && *searches[i] ? strdup(searches[i]) : NULL;
        char *next = copy;
        const char *entry;

        while (next && (entry = strsep(&next, ":")))
            if (!is_inside(artifact, entry))
                return berth_err_set(
                    err,
                    "'%s': searches the directory '%s', which is not in '%s'; set its "
                    "search path with patchelf, or write prefix in the place of "
                    "artifact, and berth copies it",
                    path, entry, artifact);
    }
    return 0;
}

/* A file that is damaged is refused later, by the loader. */
static int check_file(const char *artifact, const char *path, struct berth_err *err)
{
    struct berth_elf elf;
    int result;

    if (berth_elf_read_path(path, &berth_elf_no_symbols, &elf, NULL) < 0)
        return 0;
    result = berth_searchpath_check(artifact, path, &elf, err);
    berth_elf_fini(&elf);
    return result;
}

static int check_tree(const char *artifact, struct berth_err *err)
{
    char *const paths[] = {(char *)artifact, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    FTSENT *entry;
    int result = 0;

    while (tree && result == 0 && (entry = fts_read(tree)))
        if (entry->fts_info == FTS_F)
            result = check_file(artifact, entry->fts_path, err);
    if (tree)
        fts_close(tree);
    return result;
}

int berth_searchpath_check_all(struct berth_profile_set *set, struct berth_err *err)
{
    for (size_t i = 0; geteuid() == 0 && i < set->count; i++) {
        struct berth_profile *profile = &set->items[i];
        const char *artifact = berth_profile_artifact(profile);
        struct berth_err why;

        if (!artifact || check_tree(artifact, &why) == 0)
            continue;
        berth_err_at(&why, "profile '%s': artifact", profile->name);
        profile->prefix = NULL;
        profile->fault = berth_profile_set_own(set, strdup(why.text));
        if (!profile->fault)
            return berth_err_oom(err);
    }
    return 0;
}
