/* SPDX-License-Identifier: Apache-2.0 */
/* The host's network libraries under an image's own MPI, and other libraries of the
 * host: which of them stand for the image's, by who needs these and by the symbols. */

#include "bindover/bindover.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "mpi/profile.h"
#include "plan/fallback.h"
#include "plan/gpu.h"
#include "site/fabric.h"

extern char **environ;

/* What is tried for a program. */
struct use {
    struct berth_programs *programs;
    struct berth_program *program;
    struct berth_replacement *it;
};

static bool is_library(const struct berth_stack *stack)
{
    return stack->profile->kind == BERTH_PROFILE_LIBRARIES;
}

static bool is_named(const struct use *use)
{
    return berth_fabric_is_named(use->it->stack->profile,
                                 use->programs->inside->request);
}

/* The first of the libraries NAMES (ends in NULL) that the program may load; NULL:
 * none. */
static const struct berth_mpi_object *find_any(const struct use *use,
                                               const char *const *names)
{
    const struct berth_mpi_object *found = NULL;

    for (; !found && *names; names++)
        found = berth_mpi_objects_find(&use->program->scan.objects, *names);
    return found;
}

/* Find who in the image needs what is replaced; *RET_HAS: the image has some of it. */
static int find_users(struct use *use, bool *ret_has, struct berth_err *err)
{
    const char *const *replaces = berth_stack_replaces(use->it->stack);
    struct berth_scan *scan = &use->program->scan;
    struct berth_users *users = &use->it->users;

    *ret_has = false;
    users->scan = scan;
    users->sonames = replaces;
    if (is_library(use->it->stack))
        users->command = use->programs->inside->command;
    if (!*replaces)
        return 0;
    if (berth_scan_names(scan, replaces, environ, err) < 0)
        return -1;
    *ret_has = find_any(use, replaces) != NULL;
    return *ret_has ? berth_dependents_find(users, err) : 0;
}

/* Is it for a program of this step? What the image has is used where somebody needs it,
 * and what is added where there are GPUs: by name always. */
static bool is_wanted(const struct use *use, bool has_own)
{
    if (use->it->stack->profile->adds)
        return is_named(use) || berth_gpu_is_given(use->programs->inside->task);
    return has_own && (is_named(use) || use->it->users.files.count > 0);
}

/* Only who names a plugin wants it in the place of one that the program has: an older
 * NCCL finds none with a path in its variable. */
static int check_own_plugin(struct use *use, struct berth_err *err)
{
    const struct berth_profile *profile = use->it->stack->profile;
    const struct berth_mpi_object *plugin;
    const char *own;

    if (!profile->adds || is_named(use))
        return 0;
    if (berth_scan_names(&use->program->scan, profile->adds, environ, err) < 0)
        return -1;
    plugin = find_any(use, profile->adds);
    own = plugin ? plugin->path : NULL;
    for (const char *const *it = profile->environment; !own && it && *it; it++) {
        BERTH_FREE char *name = strndup(*it, strcspn(*it, "="));

        own = name && getenv(name) ? *it : NULL;
    }
    if (!own)
        return 0;
    use->programs->reason = BERTH_REASON_IMAGE;
    return berth_err_set(err, "the program has its own, '%.*s'", (int)strcspn(own, "="),
                         own);
}

/* What is added brings other libraries of a network, which all of the process gets. */
static int check_twins(const struct use *use, struct berth_err *err)
{
    const struct berth_mpi_objects *staged = &use->it->staged;

    for (size_t i = 0; use->it->stack->profile->adds && i < staged->count; i++) {
        const char *soname = staged->items[i].soname;

        if (soname && berth_profile_is_fabric(soname) &&
            !berth_text_is_any(soname, use->it->users.sonames) &&
            berth_mpi_objects_find(&use->program->scan.objects, soname))
            return berth_err_set(err,
                                 "the image has '%s', too, which profile '%s' does not "
                                 "name in 'replaces'",
                                 soname, use->it->stack->profile->name);
    }
    return 0;
}

/* Is an MPI of FAMILY certainly another one than that of a program of WANTED? */
static bool is_other(enum berth_mpi_family wanted, enum berth_mpi_family family)
{
    return (wanted == BERTH_FAMILY_MPICH && family == BERTH_FAMILY_OPENMPI) ||
           (wanted == BERTH_FAMILY_OPENMPI && family == BERTH_FAMILY_MPICH);
}

/* Is the host's MPI in the container? */
static bool has_host(const struct berth_programs *programs)
{
    const struct berth_program *first = &programs->items[0];

    return first->count > 0 && berth_replacement_is_mpi(&first->items[0]);
}

/* Refuses libraries that need an MPI (ScaLAPACK) that is not that of the process. */
static int check_mpi(const struct use *use, struct berth_err *err)
{
    const struct berth_mpi_objects *staged = &use->it->staged;
    enum berth_mpi_family wanted = use->program->wants.family;
    const char *version = use->it->stack->version;

    for (size_t i = 0; is_library(use->it->stack) && i < staged->count; i++) {
        const struct berth_mpi_library *mpi = &staged->items[i].library;

        if (!(mpi->parts & BERTH_PART_C))
            continue;
        if (!has_host(use->programs) || is_other(wanted, mpi->family))
            return berth_err_set(err,
                                 "the host's %s needs '%s' of the host, and the "
                                 "program uses %s",
                                 version, staged->items[i].soname,
                                 has_host(use->programs)
                                     ? berth_mpi_family_name(wanted)
                                     : "the image's MPI (--mpi-bind=host)");
    }
    return 0;
}

/* Judge what is staged, and plan the mounts. */
static int judge(const struct use *use, struct berth_err *err)
{
    struct berth_replacement *it = use->it;

    return check_twins(use, err) < 0 || check_mpi(use, err) < 0 ||
                   (!is_library(it->stack) &&
                    berth_dependents_check_age(&it->users, &it->staged, it->stack,
                                               err) < 0) ||
                   berth_bindover_judge(use->programs, use->program, it, err) < 0
               ? -1
               : 0;
}

/* A program without a loader loads no library. That is right for libraries, and not for
 * a network that is named: an MPI in the program has its own. */
static int check_static(const struct use *use, struct berth_err *err)
{
    if (is_library(use->it->stack) || !is_named(use))
        return 0;
    return berth_err_set(err,
                         "'%s' is linked statically, and has no library that the "
                         "host's could replace",
                         use->program->scan.runner);
}

/* This node lacks the stack, and others may have it. With auto one of UCX and libfabric
 * is enough, unless a profile with a prefix says that there are both. */
static int check_absent(const struct use *use, struct berth_err *err)
{
    const struct berth_profile *profile = use->it->stack->profile;
    const struct berth_mpi_object *own =
        find_any(use, berth_stack_replaces(use->it->stack));

    if (profile->prefix)
        return berth_match_refuse_absent(use->it->stack, err);
    for (int i = 0; i < use->program->done && !is_named(use); i++)
        if (!use->program->items[i].stack->profile->adds)
            return 0;
    return berth_err_set(err, "this node has no '%s'",
                         own ? own->soname : berth_stack_first(use->it->stack));
}

/* Returns 1 when the stack is staged and judged for the program; 0 when the image has
 * nothing that it could stand for, or nobody needs it. */
static int plan(struct use *use, struct berth_err *err)
{
    const struct berth_stack *stack = use->it->stack;
    bool has_own;

    if (!use->program->scan.loader)
        return check_static(use, err);
    if (find_users(use, &has_own, err) < 0)
        return -1;
    if (!has_own && !stack->profile->adds && is_named(use))
        return berth_err_set(err, "the image has no '%s' that the host's could replace",
                             berth_stack_first(stack));
    if (!is_wanted(use, has_own))
        return 0;
    if (check_own_plugin(use, err) < 0)
        return -1;
    if (!stack->version)
        return check_absent(use, err);
    if (berth_bindover_stage(use->programs->inside, use->program, use->it, err) < 0)
        return -1;
    return judge(use, err) < 0 ? -1 : 1;
}

/* Does one that is in place stand for a library that STACK would replace? A site's
 * profile comes before berth's own. Plugins share it. */
static bool is_covered(const struct berth_program *program,
                       const struct berth_stack *stack)
{
    const char *const *it = berth_stack_replaces(stack);

    for (; !stack->profile->adds && *it; it++)
        for (int i = 0; i < program->done; i++)
            if (berth_replacement_stands_for(&program->items[i], *it) &&
                !program->items[i].stack->profile->adds &&
                is_library(program->items[i].stack) == is_library(stack))
                return true;
    return false;
}

/* Plan STACK for PROGRAM. */
static int plan_for(struct berth_programs *programs, struct berth_program *program,
                    const struct berth_stack *stack, struct berth_err *err)
{
    struct use use = {programs, program, NULL};
    int result;

    programs->reason = BERTH_REASON_NODE;
    if (is_covered(program, stack))
        return 0;
    use.it = berth_bindover_add(program, stack, BERTH_FAMILY_NONE);
    result = plan(&use, err);
    if (result == 0)
        berth_replacement_fini(&program->items[--program->count]);
    return result < 0 ? -1 : 0;
}

/* Put STACK in place for all programs that need it; what one of them cannot use is for
 * none. */
static int put_all(struct berth_programs *programs, const struct berth_stack *stack,
                   struct berth_err *err)
{
    for (size_t k = 0; k < programs->count; k++)
        if (plan_for(programs, &programs->items[k], stack, err) < 0)
            return -1;
    return berth_bindover_put(programs, err);
}

/* Is a file known to need what REPLACEMENT brings, or may the program load anything? */
static bool is_needed(const struct berth_replacement *replacement)
{
    return replacement->stack->profile->adds || replacement->users.files.count > 0 ||
           (is_library(replacement->stack) && replacement->users.is_open);
}

/* Warn of STACK, which is named, if it is in place for programs none of which is known
 * to need it, or if all are linked statically. */
static void warn_unused(struct berth_programs *programs,
                        const struct berth_stack *stack)
{
    struct berth_binding *binding = &programs->binding;
    bool is_unused = false;

    for (size_t k = 0; k < programs->count; k++) {
        const struct berth_program *program = &programs->items[k];

        is_unused |= !program->scan.loader;
        for (int i = 0; i < program->count; i++)
            if (program->items[i].stack == stack && is_needed(&program->items[i]))
                return;
            else
                is_unused |= program->items[i].stack == stack;
    }
    if (!is_unused)
        return;
    berth_bindover_say(
        binding, &binding->warning, "; ",
        "no program of this step is known to need '%s' of the image, which "
        "the host's replaces (--container-libs=%s)",
        berth_stack_first(stack), stack->profile->name);
}

/* Use STACK if that is possible; if not, the image's own stays, or the step ends. */
static int use_stack(struct berth_programs *programs, const struct berth_stack *stack,
                     struct berth_err *err)
{
    const struct berth_decide *inside = programs->inside;
    bool is_named = berth_fabric_is_named(stack->profile, inside->request);
    struct berth_err why, *refused;

    if (put_all(programs, stack, err) == 0) {
        if (is_named)
            warn_unused(programs, stack);
        return 0;
    }
    berth_bindover_drop(programs);
    if (is_named) {
        why = *err;
        berth_err_set(err, "--container-libs=%s: %s; leave --container-libs out",
                      stack->profile->name, why.text);
        return berth_err_mark(err, BERTH_ERR_OPTION);
    }
    refused = &programs->refused[stack - inside->stacks->items];
    *refused = *err;
    return berth_fallback_fabric(inside->request, inside->reach.nodes, programs->reason,
                                 refused, err);
}

bool berth_hostlibs_are_asked(const struct berth_decide *inside)
{
    for (size_t i = 0; i < inside->stacks->count; i++)
        if (inside->stacks->items[i].profile->kind == BERTH_PROFILE_FABRIC)
            return true;
    return berth_request_has_auto_libs(inside->request);
}

bool berth_hostlibs_are_watched(const struct berth_decide *inside)
{
    return berth_request_mpi_may_host(inside->request) ||
           !berth_hostlibs_are_asked(inside);
}

/* Is STACK in place for one of the programs? */
static bool is_used(const struct berth_programs *programs,
                    const struct berth_stack *stack)
{
    for (size_t k = 0; k < programs->count; k++)
        for (int i = 0; i < programs->items[k].done; i++)
            if (programs->items[k].items[i].stack == stack)
                return true;
    return false;
}

/* How it is said of a STACK that it is used. */
static const char *sentence_of(const struct berth_stack *stack)
{
    if (stack->profile->adds)
        return "the host's %s (%s) is in the container";
    return is_library(stack) ? "the host's %s (%s) is in the place of the image's"
                             : "the host's %s (%s) runs under the image's own MPI";
}

/* Write which stacks of KIND are used, and of others why not, for people into the note.
 * Add those that the witness looks for: a fabric, libraries, or one of them. */
static void name_used(struct berth_programs *programs, enum berth_profile_kind kind)
{
    const struct berth_decide *inside = programs->inside;
    struct berth_binding *binding = &programs->binding;
    bool is_fabric = kind == BERTH_PROFILE_FABRIC;
    bool is_noted = false;

    for (size_t i = 0; i < inside->stacks->count; i++) {
        const struct berth_stack *stack = &inside->stacks->items[i];
        const struct berth_profile *profile = stack->profile;
        const char *why = programs->refused[i].text;

        if (profile->kind != kind || (!*why && !is_used(programs, stack)))
            continue;
        is_noted = true;
        if (*why)
            berth_bindover_say(binding, &binding->note, "; ",
                               profile->adds ? "the host's '%s' is left out: %s"
                                             : "the image's own '%s' stays: %s",
                               berth_stack_first(stack), why);
        else
            berth_bindover_say(binding, &binding->note, "; ", sentence_of(stack),
                               stack->version, profile->name);
        if (!*why && (is_fabric || berth_hostlibs_are_watched(inside)))
            berth_bindover_say(binding, &binding->fabric, " or ", "%s (%s)",
                               stack->version, profile->name);
    }
    if (!is_noted && is_fabric)
        berth_bindover_say(
            binding, &binding->note, "; ",
            "the image has no library that a fabric of this host could replace "
            "(--container-libs=%s)",
            inside->request->libs);
}

static const struct berth_stack *find_called(const struct berth_stacks *stacks,
                                             const char *name)
{
    for (size_t i = 0; i < stacks->count; i++)
        if (stacks->items[i].version &&
            stacks->items[i].profile->kind != BERTH_PROFILE_MPI &&
            berth_profile_is_called(stacks->items[i].profile, name))
            return &stacks->items[i];
    return NULL;
}

/* Is NAME of STACKS, and for the MPI that REQUEST lets run? */
static int check_name(const struct berth_stacks *stacks,
                      const struct berth_request *request, const char *name,
                      struct berth_err *err)
{
    const struct berth_stack *stack = find_called(stacks, name);

    if (!stack) {
        berth_err_set(err,
                      "--container-libs=%s: this host has no such libraries; see "
                      "`berth profiles`",
                      name);
        return berth_err_mark(err, BERTH_ERR_OPTION);
    }
    if (is_library(stack) || berth_request_mpi_is(request, BERTH_MODE_HYBRID) ||
        berth_request_mpi_is(request, BERTH_MODE_AUTO))
        return 0;
    berth_err_set(err,
                  "--container-libs=%s: it is for an image's own MPI whose ranks srun "
                  "starts, not for --mpi-bind=%s; choose --mpi-bind=hybrid, or leave "
                  "--container-libs out",
                  name, berth_request_mode(request));
    return berth_err_mark(err, BERTH_ERR_OPTION);
}

/* Two profiles do not stand for one library of the image. */
static int check_pair(const struct berth_stack *a, const struct berth_stack *b,
                      struct berth_err *err)
{
    if (!is_library(a) || !is_library(b))
        return 0;
    for (const char *const *it = berth_stack_replaces(a); *it; it++)
        if (berth_text_is_any(*it, berth_stack_replaces(b))) {
            berth_err_set(
                err,
                "--container-libs: '%s' and '%s' both replace '%s'; name one of them",
                a->profile->name, b->profile->name, *it);
            return berth_err_mark(err, BERTH_ERR_OPTION);
        }
    return 0;
}

/* Are the names of REQUEST those of STACKS, and do no two libraries stand for one of an
 * image? */
static int check_names(const struct berth_stacks *stacks,
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

int berth_hostlibs_use(struct berth_programs *programs, enum berth_profile_kind kind,
                       struct berth_err *err)
{
    const struct berth_stacks *stacks = programs->inside->stacks;

    if (kind == BERTH_PROFILE_LIBRARIES &&
        check_names(stacks, programs->inside->request, err) < 0)
        return -1;
    for (size_t i = 0; i < stacks->count; i++)
        if (stacks->items[i].profile->kind == kind &&
            use_stack(programs, &stacks->items[i], err) < 0)
            return -1;
    name_used(programs, kind);
    return 0;
}
