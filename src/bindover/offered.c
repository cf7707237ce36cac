/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which MPI of this host comes first, for steps and for commands that describe
 * them. */

#include "bindover/offered.h"

#include <string.h>

#include "site/profilesread.h"
#include "site/siteread.h"
#include "bindover/hostfabrics.h"

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

static size_t rank_of(const struct berth_profile *profile,
                      const struct berth_strvec *order)
{
    size_t i = 0;

    while (i + 1 < order->count && !berth_profile_is_called(profile, order->items[i]))
        i += 2;
    return i;
}

/* Does PROFILE, which has a prefix, come before OTHER? An MPI in a prefix is found
 * before all others, a fabric in the order of the profiles. */
static bool is_before(const struct berth_profile *profile,
                      const struct berth_profile *other,
                      const struct berth_strvec *order)
{
    size_t rank = rank_of(profile, order);
    size_t others = rank_of(other, order);
    bool is_first = profile->kind == BERTH_PROFILE_MPI && !other->prefix;

    return rank != others ? rank < others : is_first || profile < other;
}

int berth_offered_add_absent(const struct berth_profile *profiles,
                             enum berth_profile_kind kind,
                             const struct berth_strvec *order,
                             struct berth_stacks *stacks, struct berth_err *err)
{
    for (const struct berth_profile *it = profiles; it->name; it++) {
        const struct berth_stack absent = {.profile = it};

        if (it->kind != kind || !it->label || !it->prefix || has_stack(stacks, it))
            continue;
        if (!berth_stacks_push(stacks, &absent))
            return berth_err_oom(err);
        for (size_t i = stacks->count - 1;
             i > 0 && is_before(it, stacks->items[i - 1].profile, order); i--) {
            stacks->items[i] = stacks->items[i - 1];
            stacks->items[i - 1] = absent;
        }
    }
    return 0;
}

int berth_offered_read(const struct berth_terms *terms, char *const *env,
                       struct berth_offered *ret, struct berth_err *err)
{
    struct berth_offered offered = {0};

    if (berth_profiles_read(terms, berth_site_owner(), &offered.profiles, err) < 0)
        return -1;
    if (berth_stacks_find(NULL, offered.profiles.items, env, &offered.stacks, err) <
            0 ||
        berth_fabrics_find(NULL, offered.profiles.items, env, &offered.fabrics, err) <
            0) {
        berth_offered_fini(&offered);
        return -1;
    }
    berth_offered_sort(&offered.stacks, &terms->order);
    *ret = offered;
    return 0;
}

void berth_offered_fini(struct berth_offered *offered)
{
    berth_stacks_fini(&offered->stacks);
    berth_stacks_fini(&offered->fabrics);
    berth_profile_set_fini(&offered->profiles);
}
