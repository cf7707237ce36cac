/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries of the host that a request names. */

#include "bindover/named.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

static bool is_library(const struct berth_stack *stack)
{
    return stack->profile->kind == BERTH_PROFILE_LIBRARIES;
}

static bool has_called(const struct berth_stacks *stacks, const char *name)
{
    for (size_t i = 0; i < stacks->count; i++)
        if (is_library(&stacks->items[i]) &&
            berth_profile_is_called(stacks->items[i].profile, name))
            return true;
    return false;
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
                                 "--container-libraries: '%s' and '%s' both stand for "
                                 "'%s'; name one of them",
                                 a->profile->name, b->profile->name, *it);
    return 0;
}

int berth_named_check(const struct berth_stacks *stacks, const char *names,
                      struct berth_err *err)
{
    BERTH_FREE char *copy = strdup(names);
    char *next = copy;
    char *name;

    if (!copy)
        return berth_err_oom(err);
    while ((name = strsep(&next, ",")))
        if (!has_called(stacks, name))
            return berth_err_set(err,
                                 "--container-libraries=%s: this host has no such "
                                 "libraries; see `berth profiles`",
                                 name);
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
                                 "--container-libraries out",
                                 stack->version, staged->items[i].soname);
        if (is_other(wanted, mpi->family))
            return berth_err_set(err,
                                 "the host's %s needs '%s', and the program wants %s; "
                                 "leave --container-libraries out",
                                 stack->version, staged->items[i].soname,
                                 berth_mpi_family_name(wanted));
    }
    return 0;
}
