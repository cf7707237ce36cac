/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whose copy a process gets of a library that both sides have, by the versions
 * that the copies define. The loader would complain only later, and name neither side.
 */

#include "mpi/collisions.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "mpi/profile.h"

/* Does the library need plugins of its own build, and kernel drivers? */
static bool is_communication(const char *soname)
{
    static const char *const names[] = {
        "libfabric.so.", "libucp.so.",     "libucs.so.",  "libuct.so.",
        "libucm.so.",    "libucs_signal",  "libucc.so.",  "libibverbs.",
        "librdmacm.so.", "libpmix.so.",    "libpals.so.", "libpmi.so.",
        "libpmi2.so.",   "libcxi.so.",     "libpsm2.so.", "libopen-",
        "libopen_mpi.",  "libmca_common_", NULL};

    return berth_text_starts_any(soname, names);
}

static bool defines_all(const struct berth_elf *elf, const struct berth_elf *of)
{
    for (size_t i = 0; i < of->version_defs.count; i++)
        if (!berth_strvec_has(&elf->version_defs, of->version_defs.items[i]))
            return false;
    return true;
}

/* The first version in NEEDS (file, version, ...) of SONAME that LIBRARY does not
 * define; NULL: it defines all. */
static const char *find_lack(const struct berth_strvec *needs, const char *soname,
                             const struct berth_elf *library)
{
    for (size_t i = 0; i + 1 < needs->count; i += 2) {
        const char *version = needs->items[i + 1];

        if (strcmp(needs->items[i], soname) != 0)
            continue;
        if (!berth_strvec_has(&library->version_defs, version))
            return version;
    }
    return NULL;
}

/* Does LIBRARY, known as SONAME, define all versions that OBJECTS, but for the IDLE
 * ones, need of it? If not, *RET_VERSION is the first that it lacks, and *RET_USER the
 * file that needs it. */
static bool serves(const struct berth_elf *library, const char *soname,
                   const struct berth_mpi_objects *objects, const bool *idle,
                   const char **ret_version, const char **ret_user)
{
    for (size_t i = 0; i < objects->count; i++) {
        const struct berth_strvec *needs = &objects->items[i].elf.version_needs;
        const char *version;

        if (idle[i])
            continue;
        version = find_lack(needs, soname, library);
        if (version) {
            *ret_version = version;
            *ret_user = objects->items[i].path;
            return false;
        }
    }
    return true;
}

/* Makes one choice. Returns false if neither copy serves both sides. */
static bool choose(const struct berth_mpi_objects *host, const bool *idle,
                   struct berth_mpi_choice *choice, struct berth_err *ret_refused)
{
    const char *soname = choice->host->soname;
    const struct berth_elf *ours = &choice->host->elf;
    const struct berth_elf *theirs = &choice->image->elf;
    const char *version = "", *user = "";

    choice->image_serves = serves(theirs, soname, host, idle, &version, &user);
    choice->is_network = is_communication(soname);
    choice->from_host = choice->is_network || defines_all(ours, theirs);
    if (choice->from_host || choice->image_serves)
        return true;
    if (choice->image->role != BERTH_ROLE_PRESENT && !*ret_refused->text)
        berth_err_set(ret_refused,
                      "'%s' of the host lacks versions that '%s' of the image has, "
                      "and the image's lacks %s, which the host's '%s' needs",
                      choice->host->path, choice->image->path, version, user);
    return false;
}

/* Is OBJECT a library of which both sides may have a copy, neither MPI nor glibc? */
static bool collides(const struct berth_mpi_object *object)
{
    if (object->elf.kind != BERTH_ELF_LIBRARY || !object->soname)
        return false;
    if (object->library.family != BERTH_FAMILY_NONE)
        return false;
    return !berth_profile_is_glibc(object->soname);
}

int berth_mpi_choose(const struct berth_mpi_objects *image,
                     const struct berth_mpi_objects *host, const bool *idle,
                     struct berth_mpi_choices *ret_choices,
                     struct berth_err *ret_refused, struct berth_err *err)
{
    struct berth_mpi_choices choices = {0};

    *ret_choices = choices;
    ret_refused->text[0] = '\0';
    for (size_t i = 0; i < host->count; i++) {
        struct berth_mpi_choice choice = {.host = &host->items[i]};

        if (idle[i] || !collides(choice.host))
            continue;
        choice.image = berth_mpi_objects_find(image, choice.host->soname);
        if (!choice.image || !collides(choice.image))
            continue;
        if (!choose(host, idle, &choice, ret_refused))
            continue;
        if (berth_append(&choices, &choice) < 0) {
            berth_mpi_choices_fini(&choices);
            return berth_err_oom(err);
        }
    }
    *ret_choices = choices;
    return 0;
}

bool berth_mpi_left_out(const struct berth_mpi_choices *choices,
                        const struct berth_mpi_object *object)
{
    for (size_t i = 0; i < choices->count; i++)
        if (choices->items[i].host == object)
            return !choices->items[i].from_host;
    return false;
}

void berth_mpi_choices_fini(struct berth_mpi_choices *choices)
{
    free(choices->items);
    *choices = (struct berth_mpi_choices){0};
}
