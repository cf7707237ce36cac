/* SPDX-License-Identifier: Apache-2.0 */
/* What this host offers to steps: which MPI comes first, for steps and for commands
 * that describe them, and which files a stage of one has. */

#include "bindover/offered.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "bindover/kind.h"
#include "bindover/scan.h"
#include "bindover/stagefiles.h"
#include "site/profilesread.h"
#include "site/siteread.h"

void berth_offered_sort(struct berth_stacks *stacks, const struct berth_strvec *order)
{
    size_t sorted = 0;

    for (size_t i = 0; i + 1 < order->count; i += 2)
        for (size_t j = sorted; j < stacks->count; j++) {
            struct berth_stack found = stacks->items[j];

            if (!berth_profile_is_called(found.profile, order->items[i]))
                continue;
            memmove(&stacks->items[sorted + 1], &stacks->items[sorted],
                    (j - sorted) * sizeof(found));
            stacks->items[sorted++] = found;
        }
}

static bool has_stack(const struct berth_stacks *stacks,
                      const struct berth_profile *profile)
{
    for (size_t i = 0; i < stacks->count; i++)
        if (stacks->items[i].profile == profile)
            return true;
    return false;
}

/* Does PROFILE, of an absent stack, come before OTHER? An MPI in a prefix is found
 * before all others, and other libraries in the order of the profiles, after MPIs. */
static bool is_before(const struct berth_profile *profile,
                      const struct berth_profile *other)
{
    bool is_listed_before = profile < other; /* both are of one table */

    if (profile->kind != BERTH_PROFILE_MPI)
        return profile->prefix && other->kind != BERTH_PROFILE_MPI && is_listed_before;
    if (other->kind != BERTH_PROFILE_MPI || !other->prefix)
        return true;
    return is_listed_before;
}

/* May other nodes have the stack of PROFILE while this one lacks it? One in a prefix,
 * or a fabric that replaces libraries, which any node can have. */
static bool may_be_absent(const struct berth_profile *profile)
{
    if (profile->prefix)
        return true;
    return berth_kind_of(profile)->is_network && !profile->adds;
}

/* Moves the last of STACKS, which is absent, to its place in the order. */
static void move_absent(struct berth_stacks *stacks)
{
    struct berth_stack absent = stacks->items[stacks->count - 1];
    size_t at = stacks->count - 1;

    for (; at > 0 && is_before(absent.profile, stacks->items[at - 1].profile); at--)
        stacks->items[at] = stacks->items[at - 1];
    stacks->items[at] = absent;
}

int berth_offered_add_absent(const struct berth_profile *profiles, unsigned int kinds,
                             struct berth_stacks *stacks, struct berth_err *err)
{
    for (const struct berth_profile *it = profiles; it->name; it++) {
        struct berth_stack absent = {.profile = it};

        bool is_asked_for = kinds & 1U << it->kind;

        if (!is_asked_for || !may_be_absent(it) || has_stack(stacks, it))
            continue;
        if (berth_append(stacks, &absent) < 0)
            return berth_err_oom(err);
        move_absent(stacks);
    }
    return 0;
}

/* Adds FILE with the libraries that it would need in a stage. */
static int add_file(const struct berth_gathered_file *file,
                    struct berth_mpi_objects *objects, struct berth_err *err)
{
    struct berth_strvec *needed;

    if (berth_scan_add(NULL, objects, BERTH_ROLE_LOADED, NULL, file->source, err) < 0)
        return -1;
    needed = &objects->items[objects->count - 1].elf.needed;
    berth_strvec_append(needed, &file->needs);
    return berth_err_oom_if(needed->failed, err);
}

/* Reads the files that a stage of STACK would have. */
static int read_stack(const struct berth_stack *stack,
                      struct berth_mpi_objects *objects, struct berth_err *err)
{
    struct berth_gathered gathered;
    int result = 0;

    if (berth_stagefiles_gather(stack, &gathered, err) < 0)
        return -1;
    for (size_t i = 0; result == 0 && i < gathered.count; i++)
        if (gathered.files[i].patched ||
            berth_text_starts(gathered.files[i].file, "glibc/"))
            result = add_file(&gathered.files[i], objects, err);
    berth_gathered_fini(&gathered);
    return result;
}

int berth_offered_read(const struct berth_terms *terms, unsigned int kinds,
                       char *const *env, struct berth_offered *ret,
                       struct berth_err *err)
{
    struct berth_offered offered = {0};

    if (berth_profiles_read(terms, berth_site_owner(), &offered.profiles, err) < 0)
        return -1;
    if (berth_stacks_find(NULL, offered.profiles.items, kinds, env, &offered.stacks,
                          err) < 0) {
        berth_offered_fini(&offered);
        return -1;
    }
    berth_offered_sort(&offered.stacks, &terms->order);
    *ret = offered;
    return 0;
}

int berth_offered_read_files(struct berth_offered *offered, struct berth_err *err)
{
    offered->objects = calloc(offered->stacks.count + 1, sizeof(*offered->objects));
    if (!offered->objects)
        return berth_err_oom(err);
    for (size_t i = 0; i < offered->stacks.count; i++)
        if (read_stack(&offered->stacks.items[i], &offered->objects[i], err) < 0)
            return -1;
    return 0;
}

void berth_offered_fini(struct berth_offered *offered)
{
    for (size_t i = 0; offered->objects && i < offered->stacks.count; i++)
        berth_mpi_objects_fini(&offered->objects[i]);
    free(offered->objects);
    berth_stacks_fini(&offered->stacks);
    berth_profile_set_fini(&offered->profiles);
    *offered = (struct berth_offered){0};
}
