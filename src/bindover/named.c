/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries of the host that a request names. */

#include "bindover/named.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
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

static bool is_library(const struct berth_stack *stack)
{
    return stack->profile->kind == BERTH_PROFILE_LIBRARIES;
}

static const struct berth_stack *find_called(const struct berth_stacks *stacks,
                                             const char *name)
{
    for (size_t i = 0; i < stacks->count; i++)
        if (berth_profile_is_called(stacks->items[i].profile, name))
            return &stacks->items[i];
    return NULL;
}

/* Is NAME of STACKS, and for the MPI that REQUEST lets run? */
static int check_name(const struct berth_stacks *stacks,
                      const struct berth_request *request, const char *name,
                      struct berth_err *err)
{
    const struct berth_stack *stack = find_called(stacks, name);

    if (!stack)
        return berth_err_set(err,
                             "--container-libs=%s: this host has no such libraries; "
                             "see `berth profiles`",
                             name);
    if (is_library(stack) || berth_request_mpi_is(request, BERTH_MODE_HYBRID) ||
        berth_request_mpi_is(request, BERTH_MODE_AUTO))
        return 0;
    return berth_err_set(err,
                         "--container-libs=%s: it is for an image's own MPI whose "
                         "ranks srun starts, not for --mpi-bind=%s; choose "
                         "--mpi-bind=hybrid, or leave --container-libs out",
                         name, berth_request_mode(request));
}

/* Two profiles do not stand for one library of the image. */
static int check_pair(const struct berth_stack *a, const struct berth_stack *b,
                      struct berth_err *err)
{
    if (!is_library(a) || !is_library(b))
        return 0;
    for (const char *const *it = berth_stack_replaces(a); *it; it++)
        if (berth_text_is_any(*it, berth_stack_replaces(b)))
            return berth_err_set(err,
                                 "--container-libs: '%s' and '%s' both stand for "
                                 "'%s'; name one of them",
                                 a->profile->name, b->profile->name, *it);
    return 0;
}

int berth_named_check(const struct berth_stacks *stacks,
                      const struct berth_request *request, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec names = {0};

    berth_strvec_split(&names, request->libs);
    if (names.failed)
        return berth_err_oom(err);
    for (size_t i = 0; i < names.count; i++)
        if (strcmp(names.items[i], BERTH_LIBS_AUTO) != 0 &&
            check_name(stacks, request, names.items[i], err) < 0)
            return -1;
    for (size_t i = 0; i < stacks->count; i++)
        for (size_t k = 0; k < i; k++)
            if (check_pair(&stacks->items[k], &stacks->items[i], err) < 0)
                return -1;
    return 0;
}

/* Is an MPI of FAMILY certainly another one than that of a program of WANTED? */
static bool is_other(enum berth_mpi_family wanted, enum berth_mpi_family family)
{
    return (wanted == BERTH_FAMILY_MPICH && family == BERTH_FAMILY_OPENMPI) ||
           (wanted == BERTH_FAMILY_OPENMPI && family == BERTH_FAMILY_MPICH);
}

int berth_named_check_mpi(const struct berth_stack *stack,
                          const struct berth_mpi_objects *staged, bool has_host,
                          enum berth_mpi_family wanted, struct berth_err *err)
{
    for (size_t i = 0; i < staged->count; i++) {
        const struct berth_mpi_library *mpi = &staged->items[i].library;

        if (!(mpi->parts & BERTH_PART_C))
            continue;
        if (!has_host)
            return berth_err_set(err,
                                 "the host's %s needs '%s', and the host's MPI does "
                                 "not run; choose --mpi-bind=host, or leave "
                                 "--container-libs out",
                                 stack->version, staged->items[i].soname);
        if (is_other(wanted, mpi->family))
            return berth_err_set(err,
                                 "the host's %s needs '%s', and the program wants %s; "
                                 "leave --container-libs out",
                                 stack->version, staged->items[i].soname,
                                 berth_mpi_family_name(wanted));
    }
    return 0;
}
