/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of the host's fabrics and libraries: which of them the programs of a
 * step use, and of others why not. */

#include "bindover/fabricnote.h"

#include "mpi/profile.h"

size_t berth_fabrics_number(const struct berth_inside *inside,
                            const struct berth_replacement *replacement)
{
    return (size_t)(replacement->stack - inside->fabrics->items);
}

const char *berth_fabrics_refusal(struct berth_fabrics *const *programs, size_t count,
                                  size_t i)
{
    for (size_t k = 0; k < count; k++)
        if (*programs[k]->refused[i].text)
            return programs[k]->refused[i].text;
    return NULL;
}

static bool is_used(const struct berth_inside *inside,
                    struct berth_fabrics *const *programs, size_t count, size_t i)
{
    for (size_t k = 0; k < count; k++)
        for (int j = 0; j < programs[k]->count; j++)
            if (berth_fabrics_number(inside, &programs[k]->items[j]) == i)
                return true;
    return false;
}

static void add_note(struct berth_err *note, const char *format, const char *a,
                     const char *b)
{
    struct berth_err before = *note;
    struct berth_err text;

    berth_err_set(&text, format, a, b);
    berth_err_set(note, "%s%s%s", before.text, *before.text ? "; " : "", text.text);
}

/* How it is said of a STACK that it is used. */
static const char *sentence_of(const struct berth_stack *stack)
{
    if (stack->profile->adds)
        return "the host's %s (%s) is in the container";
    return stack->profile->kind == BERTH_PROFILE_LIBRARIES
               ? "the host's %s (%s) is in the place of the image's"
               : "the host's %s (%s) runs under the image's own MPI";
}

void berth_fabrics_say(const struct berth_inside *inside,
                       struct berth_fabrics *const *programs, size_t count,
                       struct berth_err *note)
{
    *note->text = '\0';
    for (size_t i = 0; i < inside->fabrics->count; i++) {
        const struct berth_stack *stack = &inside->fabrics->items[i];
        const char *why = berth_fabrics_refusal(programs, count, i);

        if (why)
            add_note(note,
                     stack->profile->adds ? "the host's '%s' is left out: %s"
                                          : "the image's own '%s' stays: %s",
                     berth_stack_first(stack), why);
        else if (is_used(inside, programs, count, i))
            add_note(note, sentence_of(stack), stack->version, stack->profile->name);
    }
    if (!*note->text && programs[0]->kind != BERTH_PROFILE_LIBRARIES)
        berth_err_set(note,
                      "the image has no library that a fabric of this host could stand "
                      "for (--container-libs=%s)",
                      inside->request->libs);
}
