/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the MPIs from which a step may choose: those of this node, and those of the
 * site that it lacks. */

#include "bindover/offers.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "bindover/offered.h"
#include "plan/fallback.h"

struct list {
    const struct berth_inside *inside;
    struct berth_offer *offers;
    size_t count;
};

static unsigned int families_of(const struct berth_stack *stack)
{
    unsigned int families = 1u << stack->profile->family;

    for (size_t i = 0; i < stack->count; i++)
        families |= 1u << stack->libraries[i].family;
    return families;
}

static void add_stack(struct list *list, size_t number)
{
    const struct berth_stack *stack = &list->inside->stacks->items[number];

    list->offers[list->count++] = (struct berth_offer){.name = stack->profile->stack,
                                                       .profile = stack->profile->name,
                                                       .version = stack->version,
                                                       .families = families_of(stack),
                                                       .stack = number};
}

static void add_absent(struct list *list, const struct berth_profile *profile)
{
    list->offers[list->count++] = (struct berth_offer){
        .name = profile->stack,
        .profile = profile->name,
        .version = "not on this node",
        /* An install of any family may have the standard's library, too. */
        .families = 1u << profile->family | 1u << BERTH_FAMILY_ABI,
        .absent = profile->prefix};
}

/* Add the profiles that lack their MPI and come before the stack NUMBER, but not before
 * the one that precedes it. */
static void add_absent_before(struct list *list, size_t number)
{
    static const struct berth_strvec none = {0};
    const struct berth_inside *inside = list->inside;
    const struct berth_stacks *stacks = inside->stacks;
    const struct berth_strvec *order = inside->terms ? &inside->terms->order : &none;

    for (const struct berth_profile *it = inside->profiles; it->name; it++)
        if (it->kind == BERTH_PROFILE_MPI && berth_offered_is_missing(it, stacks) &&
            berth_offered_place(it, stacks, order) == number)
            add_absent(list, it);
}

static void fill(struct list *list)
{
    const struct berth_inside *inside = list->inside;
    bool has_others = berth_fallback_has_others(inside->request, inside->reach.nodes);

    for (size_t i = 0; i <= inside->stacks->count; i++) {
        if (has_others)
            add_absent_before(list, i);
        if (i < inside->stacks->count)
            add_stack(list, i);
    }
}

int berth_offers_match(const struct berth_inside *inside,
                       const struct berth_mpi_program *program,
                       const struct berth_mpi_objects *image,
                       struct berth_match ret_matches[BERTH_MATCHES_MAX],
                       enum berth_reason *ret_reason, struct berth_err *err)
{
    size_t most = inside->stacks->count + 1;
    BERTH_FREE struct berth_offer *offers = NULL;
    struct list list = {.inside = inside};
    int count;

    for (const struct berth_profile *it = inside->profiles; it->name; it++)
        most++;
    list.offers = offers = calloc(most, sizeof(*offers));
    if (!offers)
        return berth_err_oom(err);
    fill(&list);
    count = berth_match_find(inside->request->mpi, program, image, offers, list.count,
                             ret_matches, ret_reason, err);
    for (int i = 0; i < count; i++)
        ret_matches[i].offer = offers[ret_matches[i].offer].stack;
    return count;
}
