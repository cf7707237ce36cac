/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the MPI of the host for a program. */

#include "bindover/match.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/choice.h"
#include "base/strvec.h"
#include "request/request.h"
#include "base/suggest.h"
#include "mpi/verdict.h"

static bool is_host(const char *mode)
{
    return berth_mode_of(mode) == BERTH_MODE_HOST ||
           berth_mode_of(mode) == BERTH_MODE_AUTO;
}

static bool is_mpi(const struct berth_stack *stack)
{
    return stack->profile->kind == BERTH_PROFILE_MPI;
}

static bool is_named(const struct berth_stack *stack, const char *mode)
{
    return is_mpi(stack) &&
           (is_host(mode) || berth_profile_is_called(stack->profile, mode));
}

/* Has STACK an MPI of FAMILY? MPICH since 4.3 and Open MPI 6 have the standard's
 * library, too. */
static bool has_family(const struct berth_stack *stack, enum berth_mpi_family family)
{
    if (stack->profile->family == family)
        return true;
    for (size_t i = 0; i < stack->count; i++)
        if (stack->libraries[i].family == family)
            return true;
    return !stack->version && family == BERTH_FAMILY_ABI;
}

static const char *version_of(const struct berth_stack *stack)
{
    return stack->version ? stack->version : "not on this node";
}

/* "MPICH 4.2.1 (mpich), Open MPI 5.0.7 (openmpi)", or "none". */
static void list_stacks(const struct berth_stacks *stacks, struct berth_buf *text)
{
    BERTH_STRVEC struct berth_strvec names = {0};

    for (size_t i = 0; i < stacks->count; i++) {
        const struct berth_stack *stack = &stacks->items[i];

        if (is_mpi(stack))
            berth_strvec_pushf(&names, "%s (%s)", version_of(stack),
                               stack->profile->stack);
    }
    if (names.count == 0)
        berth_strvec_push(&names, "none");
    berth_strvec_join(&names, ", ", text);
}

/* Says that no MPI of this host, which TEXT lists, is called MODE. */
static int explain_name(const char *mode, const struct berth_stacks *stacks,
                        const char *text, struct berth_err *err)
{
    BERTH_BUF struct berth_buf modes = {0};
    BERTH_STRVEC struct berth_strvec names = {0};
    BERTH_BUF struct berth_buf question = {0};
    const char *meant;
    size_t distance = strlen(mode) / 3 + 1; /* of a name that may be meant */

    berth_choice_list(BERTH_MODE_WORDS, NULL, &modes);
    berth_choice_split(BERTH_MODE_WORDS, &names);
    for (size_t i = 0; i < stacks->count; i++) {
        const struct berth_stack *stack = &stacks->items[i];

        if (!is_mpi(stack))
            continue;
        berth_strvec_push(&names, stack->profile->stack);
        berth_strvec_push(&names, stack->profile->name);
    }
    if (modes.failed || names.failed)
        return berth_err_oom(err);

    meant = berth_suggest_nearest(mode, (const char *const *)names.items, distance);
    berth_buf_addf(&question, "this host has no MPI called '%s'", mode);
    berth_buf_part(&question, " (did you mean '", meant, "'?)");
    if (question.failed)
        return berth_err_oom(err);
    return berth_err_set(err, "%s; it has %s; expected one of them, or %s",
                         question.text, text, modes.text);
}

/* The first of STACKS that MODE names and that has FAMILY; NULL: there is none. */
static const struct berth_stack *find_stack(const char *mode,
                                            enum berth_mpi_family family,
                                            const struct berth_stacks *stacks)
{
    for (size_t i = 0; i < stacks->count; i++)
        if (is_named(&stacks->items[i], mode) && has_family(&stacks->items[i], family))
            return &stacks->items[i];
    return NULL;
}

/* Says that the MPI that MODE names, STACK, is not one of FAMILY. */
static int explain_family(const char *mode, const struct berth_stack *stack,
                          enum berth_mpi_family family,
                          const struct berth_stacks *stacks, struct berth_err *err)
{
    const char *better = "hybrid";

    if (find_stack("host", family, stacks))
        better = "host";
    return berth_err_set(err,
                         "the program wants %s, and --mpi-bind=%s is %s; write "
                         "--mpi-bind=%s",
                         berth_mpi_family_name(family), mode, version_of(stack),
                         better);
}

/* The first of STACKS that MODE names; NULL: there is none. */
static const struct berth_stack *find_named(const char *mode,
                                            const struct berth_stacks *stacks)
{
    for (size_t i = 0; i < stacks->count; i++)
        if (is_named(&stacks->items[i], mode))
            return &stacks->items[i];
    return NULL;
}

/* Says why no stack fits: none has the name MODE, or none with that name is of FAMILY.
 */
static int explain(const char *mode, enum berth_mpi_family family,
                   const struct berth_stacks *stacks, struct berth_err *err)
{
    const struct berth_stack *named = find_named(mode, stacks);
    BERTH_BUF struct berth_buf text = {0};

    if (!is_host(mode) && named)
        return explain_family(mode, named, family, stacks, err);

    list_stacks(stacks, &text);
    if (text.failed)
        return berth_err_oom(err);
    if (!is_host(mode))
        return explain_name(mode, stacks, text.text, err);
    return berth_err_set(err,
                         "the program wants %s, and the MPI of this host is %s; take "
                         "the image's own with --mpi-bind=hybrid, or load a module "
                         "that brings %s",
                         berth_mpi_family_name(family), text.text,
                         berth_mpi_family_name(family));
}

int berth_match_refuse_absent(const struct berth_stack *stack, struct berth_err *err)
{
    return berth_err_set(err,
                         "profile '%s': this node has no such library in '%s'; have it "
                         "mounted here, or name a profile that all nodes have",
                         stack->profile->name, stack->profile->prefix);
}

/* May PROGRAM load an MPI of FAMILY: its own, or any that the image has? */
static bool is_wanted(const struct berth_mpi_program *program,
                      const struct berth_mpi_objects *image,
                      enum berth_mpi_family family)
{
    if (program->family != BERTH_FAMILY_NONE)
        return program->family == family;
    return berth_mpi_objects_parts(image, family) != 0;
}

int berth_match_find(const char *mode, const struct berth_mpi_program *program,
                     const struct berth_mpi_objects *image,
                     const struct berth_stacks *stacks,
                     struct berth_match ret_matches[BERTH_MATCHES_MAX],
                     enum berth_reason *ret_reason, struct berth_err *err)
{
    enum berth_mpi_family missing = BERTH_FAMILY_NONE;
    int found = 0;

    *ret_reason = BERTH_REASON_IMAGE;
    if (berth_mpi_check_program(program, err) < 0)
        return -1;
    *ret_reason = BERTH_REASON_NODE;
    if (!is_host(mode) && !find_named(mode, stacks))
        return explain(mode, BERTH_FAMILY_NONE, stacks, err);
    for (enum berth_mpi_family family = BERTH_FAMILY_MPICH; family <= BERTH_FAMILY_ABI;
         family++) {
        const struct berth_stack *stack;

        if (!is_wanted(program, image, family))
            continue;
        stack = find_stack(mode, family, stacks);
        if (!stack) {
            missing = family;
            continue;
        }
        if (!stack->version)
            return berth_match_refuse_absent(stack, err);
        ret_matches[found++] = (struct berth_match){family, stack};
    }
    if (found == 0 && missing != BERTH_FAMILY_NONE)
        return explain(mode, missing, stacks, err);
    return found;
}
