/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the MPIs from which a step may choose. */

#include "bindover/offers.h"

#include <stdlib.h>

#include "base/cleanup.h"

static unsigned int families_of(const struct berth_stack *stack)
{
    unsigned int families = 1u << stack->profile->family;

    /* MPICH since 4.3 and Open MPI 6 have the standard's library, too. */
    if (!stack->version)
        families |= 1u << BERTH_FAMILY_ABI;
    for (size_t i = 0; i < stack->count; i++)
        families |= 1u << stack->libraries[i].family;
    return families;
}

int berth_offers_match(const struct berth_inside *inside,
                       const struct berth_mpi_program *program,
                       const struct berth_mpi_objects *image,
                       struct berth_match ret_matches[BERTH_MATCHES_MAX],
                       enum berth_reason *ret_reason, struct berth_err *err)
{
    size_t count = inside->stacks->count;
    BERTH_FREE struct berth_offer *offers = calloc(count + 1, sizeof(*offers));

    if (!offers)
        return berth_err_oom(err);
    for (size_t i = 0; i < count; i++) {
        const struct berth_stack *stack = &inside->stacks->items[i];

        offers[i] = (struct berth_offer){
            .name = stack->profile->stack,
            .profile = stack->profile->name,
            .version = stack->version ? stack->version : "not on this node",
            .families = families_of(stack),
            .absent = stack->version ? NULL : stack->profile->prefix};
    }
    return berth_match_find(inside->request->mpi, program, image, offers, count,
                            ret_matches, ret_reason, err);
}
