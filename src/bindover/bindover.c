/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which library of the host replaces which library of the image. */

#include "bindover/bindover.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Is PAIR, of two, in LIST? */
static bool has_pair(const struct berth_strvec *list, char *const *pair)
{
    for (size_t i = 0; i + 1 < list->count; i += 2)
        if (strcmp(list->items[i], pair[0]) == 0 &&
            strcmp(list->items[i + 1], pair[1]) == 0)
            return true;
    return false;
}

void berth_bound_drop(struct berth_strvec *pairs, struct berth_strvec *bound)
{
    size_t kept = 0;

    for (size_t i = 0; i + 1 < pairs->count; i += 2) {
        char *pair[] = {pairs->items[i], pairs->items[i + 1]};

        if (has_pair(bound, pair)) {
            free(pair[0]);
            free(pair[1]);
            continue;
        }
        berth_strvec_push(bound, pair[0]);
        berth_strvec_push(bound, pair[1]);
        pairs->items[kept++] = pair[0];
        pairs->items[kept++] = pair[1];
    }
    pairs->count = kept;
    if (pairs->items)
        pairs->items[kept] = NULL;
}

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
