/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether the host's MPI can run on the image's glibc, and the image's files on
 * the host's. */

#include "mpi/glibc.h"

#include <string.h>

#include "base/text.h"
#include "mpi/profile.h"

/* The higher of two versions, for people; nearly always both are GLIBC_2.N. */
static const char *higher(const char *a, const char *b)
{
    size_t length_a, length_b;

    if (!a || !b)
        return a ? a : b;
    /* A number says more to people than GLIBC_ABI_DT_RELR. */
    if (!berth_text_starts(a, "GLIBC_2.") || !berth_text_starts(b, "GLIBC_2."))
        return berth_text_starts(b, "GLIBC_2.") ? b : a;
    length_a = strcspn(a + 8, ".");
    length_b = strcspn(b + 8, ".");
    if (length_a != length_b)
        return length_a > length_b ? a : b;
    return strcmp(a, b) >= 0 ? a : b;
}

static const char *newest(const struct berth_mpi_objects *objects)
{
    const struct berth_mpi_object *libc = berth_mpi_objects_find(objects, "libc.so.6");
    const char *found = NULL;

    for (size_t i = 0; libc && i < libc->elf.version_defs.count; i++)
        if (berth_text_starts(libc->elf.version_defs.items[i], "GLIBC_2."))
            found = higher(found, libc->elf.version_defs.items[i]);
    return found;
}

/* Does the glibc of OBJECTS define VERSION in its file SONAME? If that file is unknown,
 * libc.so.6 answers for it: both are of one build, and glibc never removes a version.
 */
static bool defines(const struct berth_mpi_objects *objects, const char *soname,
                    const char *version)
{
    const struct berth_mpi_object *object = berth_mpi_objects_find(objects, soname);
    const char *last = newest(objects);
    bool told = object != NULL;

    if (!told)
        object = berth_mpi_objects_find(objects, "libc.so.6");
    if (object && berth_strvec_has(&object->elf.version_defs, version))
        return true;
    return !told && last && berth_text_starts(version, "GLIBC_2.") &&
           higher(last, version) == last;
}

/* The highest version that USERS need of glibc and OF does not define; NULL: none. */
static const char *find_lack(const struct berth_mpi_objects *users, const bool *idle,
                             const struct berth_mpi_choices *choices,
                             const struct berth_mpi_objects *of)
{
    const char *found = NULL;

    for (size_t i = 0; i < users->count; i++) {
        const struct berth_mpi_object *object = &users->items[i];
        const struct berth_strvec *needs = &object->elf.version_needs;

        if ((idle && idle[i]) ||
            (object->soname && berth_profile_is_glibc(object->soname)) ||
            (choices && berth_mpi_left_out(choices, object)))
            continue;
        for (size_t j = 0; j < needs->count; j += 2) {
            const char *version = needs->items[j + 1];

            if (!berth_profile_is_glibc(needs->items[j]) ||
                defines(of, needs->items[j], version) ||
                (found && higher(found, version) == found))
                continue;
            found = version;
        }
    }
    return found;
}

void berth_mpi_compare_glibc(const struct berth_mpi_objects *image,
                             const struct berth_mpi_objects *host, const bool *idle,
                             const struct berth_mpi_choices *choices,
                             struct berth_mpi_glibc *ret_glibc)
{
    *ret_glibc = (struct berth_mpi_glibc){
        .image_lacks = find_lack(host, idle, choices, image),
        .host_lacks = find_lack(image, NULL, NULL, host),
        .image_newest = newest(image),
        .host_newest = newest(host),
    };
}
