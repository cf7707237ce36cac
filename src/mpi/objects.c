/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the files of an image or of a host's MPI, with the facts of each. */

#include "mpi/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"

struct berth_mpi_object *berth_mpi_objects_at(const struct berth_mpi_objects *objects,
                                              const char *path)
{
    for (size_t i = 0; i < objects->count; i++)
        if (strcmp(objects->items[i].path, path) == 0)
            return &objects->items[i];
    return NULL;
}

static void fini(struct berth_mpi_object *object)
{
    free(object->soname);
    free(object->path);
    berth_elf_fini(&object->elf);
}

/* Set the names of OBJECT; a program has no SONAME. Returns -1 out of memory. */
static int set_names(struct berth_mpi_object *object, const char *soname,
                     const char *path)
{
    object->path = strdup(path);
    if (!object->path)
        return -1;
    if (object->role == BERTH_ROLE_PROGRAM)
        return 0;
    object->soname = strdup(soname);
    return object->soname ? 0 : -1;
}

int berth_mpi_objects_add(struct berth_mpi_objects *objects, enum berth_mpi_role role,
                          const char *soname, const char *path, struct berth_elf *elf,
                          struct berth_err *err)
{
    struct berth_mpi_object *same = berth_mpi_objects_at(objects, path);
    struct berth_mpi_object object = {.role = role, .elf = berth_steal(elf)};
    struct berth_mpi_object *added;

    if (same) {
        if (role < same->role)
            same->role = role;
        fini(&object);
        return 0;
    }
    if (!soname)
        soname = object.elf.soname;
    if (!soname)
        soname = berth_text_base(path);
    if (set_names(&object, soname, path) < 0 || berth_append(objects, &object) < 0) {
        fini(&object);
        return berth_err_oom(err);
    }
    added = &objects->items[objects->count - 1];
    berth_mpi_classify(&added->elf, berth_text_base(path), &added->library);
    return 0;
}

static bool is_called(const struct berth_mpi_object *object, const char *soname)
{
    return (object->soname && strcmp(object->soname, soname) == 0) ||
           (object->elf.soname && strcmp(object->elf.soname, soname) == 0);
}

const struct berth_mpi_object *
berth_mpi_objects_find(const struct berth_mpi_objects *objects, const char *soname)
{
    const struct berth_mpi_object *found = NULL;

    for (size_t i = 0; i < objects->count; i++) {
        const struct berth_mpi_object *object = &objects->items[i];

        if (!is_called(object, soname))
            continue;
        if (!found || object->role < found->role)
            found = object;
    }
    return found;
}

const struct berth_mpi_object *
berth_mpi_objects_mpi(const struct berth_mpi_objects *objects,
                      enum berth_mpi_family family)
{
    for (size_t i = 0; i < objects->count; i++)
        if (objects->items[i].library.family == family &&
            (objects->items[i].library.parts & BERTH_PART_C))
            return &objects->items[i];
    return NULL;
}

bool berth_mpi_objects_load(const struct berth_mpi_objects *objects)
{
    for (size_t i = 0; i < objects->count; i++)
        if (objects->items[i].role == BERTH_ROLE_LOADED &&
            (objects->items[i].library.parts & BERTH_PART_C))
            return true;
    return false;
}

unsigned int berth_mpi_objects_parts(const struct berth_mpi_objects *objects,
                                     enum berth_mpi_family family)
{
    unsigned int parts = 0;

    for (size_t i = 0; i < objects->count; i++)
        if (objects->items[i].library.family == family)
            parts |= objects->items[i].library.parts;
    return parts;
}

void berth_mpi_objects_reach(const struct berth_mpi_objects *objects,
                             const struct berth_mpi_object *object,
                             bool (*through)(const struct berth_mpi_object *object),
                             bool *seen)
{
    if (seen[object - objects->items] || (through && !through(object)))
        return;
    seen[object - objects->items] = true;
    for (size_t i = 0; i < object->elf.needed.count; i++) {
        const struct berth_mpi_object *needed =
            berth_mpi_objects_find(objects, object->elf.needed.items[i]);

        if (needed)
            berth_mpi_objects_reach(objects, needed, through, seen);
    }
}

void berth_mpi_objects_fini(struct berth_mpi_objects *objects)
{
    for (size_t i = 0; i < objects->count; i++)
        fini(&objects->items[i]);
    free(objects->items);
    *objects = (struct berth_mpi_objects){0};
}

const char *berth_mpi_describe(const struct berth_mpi_objects *objects,
                               enum berth_mpi_family family, char *name, size_t size)
{
    const struct berth_mpi_object *object = berth_mpi_objects_mpi(objects, family);
    const struct berth_mpi_library unknown = {.family = family};

    return berth_mpi_library_name(object ? &object->library : &unknown, name, size);
}
