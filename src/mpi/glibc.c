/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether the host's MPI can run on the image's glibc, and the image's files on
 * the host's. */

#include "mpi/glibc.h"

#include <string.h>

#include "base/text.h"
#include "mpi/profile.h"

#define NUMBERED "GLIBC_2."

/* Is A, which may be NULL, a higher version than B, for people, or the same? Nearly
 * always both are GLIBC_2.N. */
static bool is_as_high(const char *a, const char *b)
{
    size_t digits_a, digits_b;

    if (!a)
        return false;

    /* A number says more to people than GLIBC_ABI_DT_RELR. */
    if (!berth_text_starts(b, NUMBERED))
        return true;
    if (!berth_text_starts(a, NUMBERED))
        return false;
    digits_a = strcspn(a + strlen(NUMBERED), ".");
    digits_b = strcspn(b + strlen(NUMBERED), ".");
    if (digits_a != digits_b)
        return digits_a > digits_b;
    return strcmp(a, b) >= 0;
}

static const char *newest(const struct berth_mpi_objects *objects)
{
    const struct berth_mpi_object *libc = berth_mpi_objects_find(objects, "libc.so.6");
    const char *found = NULL;

    if (!libc)
        return NULL;
    for (size_t i = 0; i < libc->elf.version_defs.count; i++) {
        const char *version = libc->elf.version_defs.items[i];

        if (berth_text_starts(version, NUMBERED) && !is_as_high(found, version))
            found = version;
    }
    return found;
}

/* Does the glibc of OBJECTS define VERSION in its file SONAME? If that file is unknown,
 * libc.so.6 answers for it: both are of one build, and glibc never removes a version.
 */
static bool defines(const struct berth_mpi_objects *objects, const char *soname,
                    const char *version)
{
    const struct berth_mpi_object *object = berth_mpi_objects_find(objects, soname);
    const struct berth_mpi_object *libc;

    if (object)
        return berth_strvec_has(&object->elf.version_defs, version);
    libc = berth_mpi_objects_find(objects, "libc.so.6");
    if (libc && berth_strvec_has(&libc->elf.version_defs, version))
        return true;
    return berth_text_starts(version, NUMBERED) && is_as_high(newest(objects), version);
}

/* Do OBJECT's versions count? Not those of a file of glibc itself, or of a file that is
 * left out for the image's. */
static bool counts(const struct berth_mpi_object *object,
                   const struct berth_mpi_choices *choices)
{
    if (object->soname && berth_profile_is_glibc(object->soname))
        return false;
    return !choices || !berth_mpi_left_out(choices, object);
}

/* The highest version that NEEDS (file, version, ...) has of glibc, OF does not define,
 * and is higher than FOUND; FOUND: there is none. */
static const char *find_higher(const struct berth_strvec *needs,
                               const struct berth_mpi_objects *of, const char *found)
{
    for (size_t i = 0; i + 1 < needs->count; i += 2) {
        const char *soname = needs->items[i];
        const char *version = needs->items[i + 1];

        if (!berth_profile_is_glibc(soname) || is_as_high(found, version))
            continue;
        if (!defines(of, soname, version))
            found = version;
    }
    return found;
}

/* The highest version that USERS need of glibc and OF does not define; NULL: none. */
static const char *find_lack(const struct berth_mpi_objects *users, const bool *idle,
                             const struct berth_mpi_choices *choices,
                             const struct berth_mpi_objects *of)
{
    const char *found = NULL;

    for (size_t i = 0; i < users->count; i++) {
        const struct berth_mpi_object *object = &users->items[i];
        bool is_idle = idle && idle[i];

        if (!is_idle && counts(object, choices))
            found = find_higher(&object->elf.version_needs, of, found);
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
