/* SPDX-License-Identifier: Apache-2.0 */
/* A stack of the host, and lists of them. */

#include "bindover/stack.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "bindover/kind.h"

bool berth_stack_push(struct berth_stack *stack,
                      const struct berth_stack_library *library)
{
    struct berth_stack_library *more;

    if (berth_grow(&stack->libraries, stack->count, &stack->room, sizeof(*more)) < 0)
        return false;
    more = &stack->libraries[stack->count++];
    *more = *library;
    more->soname = strdup(library->soname);
    more->path = strdup(library->path);
    return more->soname && more->path;
}

void berth_stack_fini(struct berth_stack *stack)
{
    free(stack->version);
    free(stack->origin);
    free(stack->search);
    for (size_t i = 0; i < stack->count; i++) {
        free(stack->libraries[i].soname);
        free(stack->libraries[i].path);
    }
    free(stack->libraries);
    berth_strvec_fini(&stack->sonames);
}

const char *const *berth_stack_replaces(const struct berth_stack *stack)
{
    static const char *const none[] = {NULL};

    if (stack->sonames.count)
        return (const char *const *)stack->sonames.items;
    if (berth_kind_of(stack->profile)->is_partial)
        return none; /* the host has only what the profile adds */
    return stack->profile->replaces ? stack->profile->replaces : none;
}

const char *berth_stack_first(const struct berth_stack *stack)
{
    const struct berth_profile *profile = stack->profile;

    if (stack->count > 0)
        return stack->libraries[0].soname;
    return profile->adds ? profile->adds[0] : profile->replaces[0];
}

void berth_stacks_fini(struct berth_stacks *stacks)
{
    for (size_t i = 0; i < stacks->count; i++)
        berth_stack_fini(&stacks->items[i]);
    free(stacks->items);
    *stacks = (struct berth_stacks){0};
}
