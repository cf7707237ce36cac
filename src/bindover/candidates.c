/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the host's side of a verdict, without a stage. */

#include "bindover/candidates.h"

#include <stdlib.h>

#include "base/text.h"
#include "bindover/scan.h"
#include "bindover/gather.h"

/* Adds FILE with the libraries that it would need in a stage. */
static int add_file(const struct berth_gathered_file *file,
                    struct berth_mpi_objects *objects, struct berth_err *err)
{
    struct berth_strvec *needed;

    if (berth_scan_add(NULL, objects, BERTH_ROLE_LOADED, NULL, file->source, err) < 0)
        return -1;
    needed = &objects->items[objects->count - 1].elf.needed;
    berth_strvec_append(needed, &file->needs);
    return needed->failed ? berth_err_oom(err) : 0;
}

/* Reads the files that a stage of STACK would have. */
static int read_stack(const struct berth_stack *stack,
                      struct berth_mpi_objects *objects, struct berth_err *err)
{
    struct berth_gathered gathered;
    int result = 0;

    if (berth_gather(stack, &gathered, err) < 0)
        return -1;
    for (size_t i = 0; result == 0 && i < gathered.count; i++)
        if (gathered.files[i].patched ||
            berth_text_starts(gathered.files[i].file, "glibc/"))
            result = add_file(&gathered.files[i], objects, err);
    berth_gathered_fini(&gathered);
    return result;
}

int berth_candidates_read(const struct berth_terms *terms, char *const *env,
                          struct berth_candidates *ret, struct berth_err *err)
{
    struct berth_candidates candidates = {0};
    int result = 0;

    if (berth_offered_read(terms, env, &candidates.offered, err) < 0)
        return -1;
    candidates.objects =
        calloc(candidates.offered.stacks.count + 1, sizeof(*candidates.objects));
    if (!candidates.objects)
        result = berth_err_oom(err);
    for (size_t i = 0; result == 0 && i < candidates.offered.stacks.count; i++)
        result = read_stack(&candidates.offered.stacks.items[i], &candidates.objects[i],
                            err);
    if (result < 0)
        berth_candidates_fini(&candidates);
    else
        *ret = candidates;
    return result;
}

void berth_candidates_fini(struct berth_candidates *candidates)
{
    for (size_t i = 0; candidates->objects && i < candidates->offered.stacks.count; i++)
        berth_mpi_objects_fini(&candidates->objects[i]);
    free(candidates->objects);
    berth_offered_fini(&candidates->offered);
    *candidates = (struct berth_candidates){0};
}
