/* SPDX-License-Identifier: Apache-2.0 */
/* Names what is neither in an artifact nor in the image. */

#include "bind/lacking.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"
#include "discover/loader.h"
#include "mpi/glibc.h"
#include "mpi/profile.h"

/* Does FILE need a library that is not in the artifact? */
static bool needs_others(const struct berth_replacement *replacement,
                         const struct berth_mpi_object *file)
{
    /* The program may be in C, and the artifact have no libgfortran. */
    if (file->library.parts && !(file->library.parts & BERTH_PART_C))
        return false;
    for (size_t i = 0; i < file->elf.needed.count; i++) {
        const char *soname = file->elf.needed.items[i];

        if (!berth_mpi_objects_find(&replacement->staged, soname) &&
            !berth_profile_is_glibc(soname) && !berth_profile_is_driver(soname))
            return true;
    }
    return false;
}

static int check_file(const struct berth_replacement *replacement,
                      const struct berth_scan *scan, const char *path, char *const *env,
                      const char *advice, struct berth_err *err)
{
    struct berth_closure closure;
    const char *found = NULL;

    if (berth_loader_list(NULL, scan->loader, path, env, &closure, err) < 0)
        return -1;
    for (size_t i = 0; !found && i < closure.count; i++)
        if (!closure.items[i].path && !berth_profile_is_driver(closure.items[i].soname))
            found = closure.items[i].soname;
    if (found)
        berth_err_set(err,
                      "'%s' needs '%s', which is neither in the artifact '%s' nor in "
                      "the image; build the artifact with it, or %s",
                      berth_text_base(path), found, replacement->manifest.artifact,
                      advice);
    berth_closure_fini(&closure);
    return found ? -1 : 0;
}

int berth_lacking_check(const struct berth_replacement *replacement,
                        const struct berth_scan *scan, char *const *env,
                        const char *advice, struct berth_err *err)
{
    const struct berth_mpi_objects *staged = &replacement->staged;

    for (size_t i = 0; scan->loader && i < staged->count; i++)
        if (needs_others(replacement, &staged->items[i]) &&
            check_file(replacement, scan, staged->items[i].path, env, advice, err) < 0)
            return -1;
    return 0;
}

int berth_lacking_check_glibc(const struct berth_replacement *replacement,
                              const struct berth_scan *scan, const char *advice,
                              struct berth_err *err)
{
    struct berth_mpi_glibc glibc;

    berth_mpi_compare_glibc(&scan->objects, &replacement->staged, NULL,
                            &replacement->verdict.choices, &glibc);
    if (glibc.image_serves || glibc.host_newest || !glibc.image_newest)
        return 0;
    return berth_err_set(err,
                         "'%s' of the artifact '%s' needs %s, which the image's C "
                         "library (%s) lacks, and the artifact brings none in 'glibc'; "
                         "build it on an older distribution, or %s",
                         berth_text_base(glibc.user), replacement->manifest.artifact,
                         glibc.version, glibc.image_newest, advice);
}
