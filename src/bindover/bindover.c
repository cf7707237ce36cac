/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which library of the host replaces which library of the image. */

#include "bindover/bindover.h"

/* The staged file that can replace LIBRARY of the image; NULL: none can. */
static const struct berth_mpi_object *find_twin(const struct berth_mpi_library *library,
                                                const struct berth_mpi_objects *staged)
{
    const struct berth_mpi_object *best = NULL;

    for (size_t i = 0; i < staged->count; i++) {
        const struct berth_mpi_object *other = &staged->items[i];

        if (other->library.family != library->family ||
            (library->parts & ~other->library.parts))
            continue;
        if (!best || __builtin_popcount(other->library.parts) <
                         __builtin_popcount(best->library.parts))
            best = other;
    }
    return best;
}

int berth_bindover_plan(const struct berth_mpi_objects *image,
                        const struct berth_mpi_objects *staged,
                        enum berth_mpi_family family, struct berth_strvec *binds,
                        struct berth_err *err)
{
    for (size_t i = 0; i < image->count; i++) {
        const struct berth_mpi_object *object = &image->items[i];
        const struct berth_mpi_object *twin = NULL;

        if (object->library.family == family && !object->library.is_inside)
            twin = find_twin(&object->library, staged);
        if (!twin)
            continue;
        berth_strvec_push(binds, twin->path);
        berth_strvec_push(binds, object->path);
    }
    return binds->failed ? berth_err_oom(err) : 0;
}
