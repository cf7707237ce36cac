/* SPDX-License-Identifier: Apache-2.0 */
/* The host's network libraries under an image's own MPI, and other libraries of the
 * host: which of them replace the image's, by who needs these and by the symbols. */

#include "bindover/hostlibs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "bindover/kind.h"
#include "bindover/match.h"
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

static const struct berth_kind *kind_of(const struct berth_stack *stack)
{
    return berth_kind_of(stack->profile);
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
    for (; *names; names++) {
        const struct berth_mpi_object *found =
            berth_mpi_objects_find(&use->program->scan.objects, *names);

        if (found)
            return found;
    }
    return NULL;
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
    if (kind_of(use->it->stack)->by_command)
        users->command = use->programs->inside->command;
    if (!*replaces)
        return 0;
    if (berth_scan_names(scan, replaces, environ, err) < 0)
        return -1;
    *ret_has = find_any(use, replaces) != NULL;
    if (!*ret_has)
        return 0;
    return berth_dependents_find(users, err);
}

/* Is it for a program of this step? What the image has is used where somebody needs it,
 * and what is added where there are GPUs: by name always. */
static bool is_wanted(const struct use *use, bool image_has_some)
{
    if (is_named(use))
        return use->it->stack->profile->adds || image_has_some;
    if (use->it->stack->profile->adds)
        return berth_gpu_is_given(use->programs->inside->task);
    return image_has_some && use->it->users.files.count > 0;
}

/* The variable of PROFILE that is set in the image, as NAME=VALUE; NULL: none is. */
static const char *find_variable(const struct berth_profile *profile)
{
    if (!profile->environment)
        return NULL;
    for (const char *const *it = profile->environment; *it; it++) {
        BERTH_FREE char *name = strndup(*it, strcspn(*it, "="));

        if (name && getenv(name))
            return *it;
    }
    return NULL;
}

/* Only who names a plugin wants it in the place of one that the program has: an older
 * NCCL finds none with a path in its variable. */
static int check_image_plugin(struct use *use, struct berth_err *err)
{
    const struct berth_profile *profile = use->it->stack->profile;
    const struct berth_mpi_object *plugin;
    const char *found;

    if (!profile->adds || is_named(use))
        return 0;
    if (berth_scan_names(&use->program->scan, profile->adds, environ, err) < 0)
        return -1;
    plugin = find_any(use, profile->adds);
    if (plugin)
        found = plugin->path;
    else
        found = find_variable(profile);
    if (!found)
        return 0;

    use->programs->reason = BERTH_REASON_IMAGE;
    return berth_err_set(err, "the program has its own, '%.*s'",
                         (int)strcspn(found, "="), found);
}

/* Is SONAME a library of a network that the program has, and that the stack of USE does
 * not replace? */
static bool is_unnamed_twin(const struct use *use, const char *soname)
{
    if (!soname || !berth_profile_is_fabric(soname))
        return false;
    if (berth_text_is_any(soname, use->it->users.sonames))
        return false;
    return berth_mpi_objects_find(&use->program->scan.objects, soname);
}

/* What is added brings other libraries of a network, which all of the process gets. */
static int check_twins(const struct use *use, struct berth_err *err)
{
    const struct berth_mpi_objects *staged = &use->it->staged;

    if (!use->it->stack->profile->adds)
        return 0;
    for (size_t i = 0; i < staged->count; i++) {
        const char *soname = staged->items[i].soname;

        if (is_unnamed_twin(use, soname))
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
    return wanted != family && berth_mpi_family_is_implementation(wanted) &&
           berth_mpi_family_is_implementation(family);
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
    bool is_hosts = has_host(use->programs);
    const char *used = "the image's MPI (--mpi-bind=host)";

    if (!kind_of(use->it->stack)->may_need_mpi)
        return 0;
    if (is_hosts)
        used = berth_mpi_family_name(wanted);
    for (size_t i = 0; i < staged->count; i++) {
        const struct berth_mpi_library *mpi = &staged->items[i].library;

        if (!(mpi->parts & BERTH_PART_C))
            continue;
        if (!is_hosts || is_other(wanted, mpi->family))
            return berth_err_set(err,
                                 "the host's %s needs '%s' of the host, and the "
                                 "program uses %s",
                                 use->it->stack->version, staged->items[i].soname,
                                 used);
    }
    return 0;
}

/* Refuses libraries of a network that are older than the image's. */
static int check_age(const struct use *use, struct berth_err *err)
{
    const struct berth_replacement *it = use->it;

    if (!kind_of(it->stack)->is_network)
        return 0;
    return berth_dependents_check_age(&it->users, &it->staged, it->stack, err);
}

/* Judge what is staged, and plan the mounts. */
static int judge(const struct use *use, struct berth_err *err)
{
    if (check_twins(use, err) < 0)
        return -1;
    if (check_mpi(use, err) < 0)
        return -1;
    if (check_age(use, err) < 0)
        return -1;
    return berth_bindover_judge(use->programs, use->program, use->it, err);
}

/* A program without a loader loads no library. That is right for libraries, and not for
 * a network that is named: an MPI in the program has its own. */
static int check_static(const struct use *use, struct berth_err *err)
{
    if (!kind_of(use->it->stack)->is_network || !is_named(use))
        return 0;
    return berth_err_set(err,
                         "'%s' is linked statically, and has no library that the "
                         "host's could replace",
                         use->program->scan.runner);
}

/* Is one accepted that replaces libraries? */
static bool has_fabric(const struct berth_program *program)
{
    for (int i = 0; i < program->accepted; i++)
        if (!program->items[i].stack->profile->adds)
            return true;
    return false;
}

/* This node lacks the stack, and others may have it. With auto one of UCX and libfabric
 * is enough, unless a profile with a prefix says that there are both. */
static int check_absent(const struct use *use, struct berth_err *err)
{
    const struct berth_stack *stack = use->it->stack;
    const struct berth_mpi_object *library = find_any(use, berth_stack_replaces(stack));
    const char *soname = berth_stack_first(stack);

    if (stack->profile->prefix)
        return berth_match_refuse_absent(stack, err);
    if (!is_named(use) && has_fabric(use->program))
        return 0;
    if (library)
        soname = library->soname;
    return berth_err_set(err, "this node has no '%s'", soname);
}

/* Returns 1 when the stack is staged and judged for the program; 0 when the image has
 * nothing that it could replace, or nobody needs it. */
static int plan(struct use *use, struct berth_err *err)
{
    const struct berth_stack *stack = use->it->stack;
    bool image_has_some;

    if (!use->program->scan.loader)
        return check_static(use, err);
    if (find_users(use, &image_has_some, err) < 0)
        return -1;
    if (!image_has_some && !stack->profile->adds && is_named(use))
        return berth_err_set(err, "the image has no '%s' that the host's could replace",
                             berth_stack_first(stack));
    if (!is_wanted(use, image_has_some))
        return 0;
    if (check_image_plugin(use, err) < 0)
        return -1;
    if (!stack->version)
        return check_absent(use, err);
    if (berth_bindover_stage(use->programs->inside, use->program, use->it, err) < 0)
        return -1;
    if (judge(use, err) < 0)
        return -1;
    return 1;
}

/* Does ACCEPTED, which is of the same kind, replace a library that STACK would replace?
 */
static bool covers(const struct berth_replacement *accepted,
                   const struct berth_stack *stack)
{
    if (berth_replacement_is_mpi(accepted) || accepted->stack->profile->adds)
        return false;
    if (kind_of(accepted->stack) != kind_of(stack))
        return false;
    for (const char *const *it = berth_stack_replaces(stack); *it; it++)
        if (berth_replacement_replaces(accepted, *it))
            return true;
    return false;
}

/* Is a library that STACK would replace replaced already? A site's profile comes before
 * berth's own. Plugins share it. */
static bool is_covered(const struct berth_program *program,
                       const struct berth_stack *stack)
{
    if (stack->profile->adds)
        return false;
    for (int i = 0; i < program->accepted; i++)
        if (covers(&program->items[i], stack))
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
    if (result < 0)
        return -1;
    if (result == 0) {
        berth_replacement_fini(use.it);
        program->count--;
    }
    return 0;
}

/* Try STACK for all programs that need it; what one of them cannot use is for none. */
static int try_all(struct berth_programs *programs, const struct berth_stack *stack,
                   struct berth_err *err)
{
    for (size_t k = 0; k < programs->count; k++)
        if (plan_for(programs, &programs->items[k], stack, err) < 0)
            return -1;
    return berth_bindover_try(programs, err);
}

/* Is a file known to need what REPLACEMENT brings, or may the program load anything? */
static bool is_needed(const struct berth_replacement *replacement)
{
    if (replacement->stack->profile->adds || replacement->users.files.count > 0)
        return true;
    return kind_of(replacement->stack)->by_command && replacement->users.is_open;
}

/* The replacement by STACK in PROGRAM; NULL: there is none. */
static const struct berth_replacement *find_by(const struct berth_program *program,
                                               const struct berth_stack *stack)
{
    for (int i = 0; i < program->accepted; i++)
        if (program->items[i].stack == stack)
            return &program->items[i];
    return NULL;
}

/* Is STACK accepted for programs none of which is known to need it, or are programs
 * linked statically? */
static bool is_unused(const struct berth_programs *programs,
                      const struct berth_stack *stack)
{
    bool is_vain = false;

    for (size_t k = 0; k < programs->count; k++) {
        const struct berth_program *program = &programs->items[k];
        const struct berth_replacement *it = find_by(program, stack);

        if (it && is_needed(it))
            return false;
        if (it || !program->scan.loader)
            is_vain = true;
    }
    return is_vain;
}

/* Warn of STACK, which is named, if nobody is known to need it. */
static void warn_unused(struct berth_programs *programs,
                        const struct berth_stack *stack)
{
    struct berth_binding *binding = &programs->binding;

    if (!is_unused(programs, stack))
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

    if (try_all(programs, stack, &why) == 0) {
        if (is_named)
            warn_unused(programs, stack);
        return 0;
    }
    if (berth_bindover_refuse(programs, err) < 0)
        return -1;
    if (is_named) {
        berth_err_set(err, "--container-libs=%s: %s; leave --container-libs out",
                      stack->profile->name, why.text);
        return berth_err_mark(err, BERTH_ERR_OPTION);
    }
    refused = &programs->refused[stack - inside->stacks->items];
    *refused = why;
    return berth_fallback_fabric(inside->request, inside->reach.nodes, programs->reason,
                                 refused, err);
}

bool berth_hostlibs_are_asked(const struct berth_decide *inside)
{
    for (size_t i = 0; i < inside->stacks->count; i++)
        if (kind_of(&inside->stacks->items[i])->is_network)
            return true;
    return berth_request_has_auto_libs(inside->request);
}

bool berth_hostlibs_are_watched(const struct berth_decide *inside)
{
    return berth_request_mpi_may_host(inside->request) ||
           !berth_hostlibs_are_asked(inside);
}

/* Is STACK accepted for one of the programs? */
static bool is_used(const struct berth_programs *programs,
                    const struct berth_stack *stack)
{
    for (size_t k = 0; k < programs->count; k++)
        if (find_by(&programs->items[k], stack))
            return true;
    return false;
}

/* What a STACK that is used does. */
static const char *purpose_of(const struct berth_stack *stack)
{
    if (stack->profile->adds)
        return "is in the container";
    return kind_of(stack)->purpose;
}

/* Write that STACK is used, and for the witness that it looks for it. */
static void note_used(struct berth_programs *programs, const struct berth_stack *stack)
{
    struct berth_binding *binding = &programs->binding;
    const struct berth_profile *profile = stack->profile;
    bool is_network = kind_of(stack)->is_network;

    berth_bindover_say(binding, &binding->note, "; ", "the host's %s (%s) %s",
                       stack->version, profile->name, purpose_of(stack));
    if (is_network || berth_hostlibs_are_watched(programs->inside))
        berth_bindover_say(binding, &binding->fabric, " or ", "%s (%s)", stack->version,
                           profile->name);
}

/* Write that STACK is not used, and WHY. */
static void note_refused(struct berth_binding *binding, const struct berth_stack *stack,
                         const char *why)
{
    const char *soname = berth_stack_first(stack);

    if (stack->profile->adds)
        berth_bindover_say(binding, &binding->note, "; ",
                           "the host's '%s' is left out: %s", soname, why);
    else
        berth_bindover_say(binding, &binding->note, "; ",
                           "the image's own '%s' stays: %s", soname, why);
}

/* Write which stacks of KIND are used, and of others why not, for people into the note.
 * Add those that the witness looks for: a fabric, libraries, or one of them. */
static void name_used(struct berth_programs *programs, enum berth_profile_kind kind)
{
    const struct berth_decide *inside = programs->inside;
    struct berth_binding *binding = &programs->binding;
    bool is_noted = false;

    for (size_t i = 0; i < inside->stacks->count; i++) {
        const struct berth_stack *stack = &inside->stacks->items[i];
        const char *why = programs->refused[i].text;

        if (stack->profile->kind != kind)
            continue;
        if (*why)
            note_refused(binding, stack, why);
        else if (is_used(programs, stack))
            note_used(programs, stack);
        else
            continue;
        is_noted = true;
    }
    if (!is_noted && kind == BERTH_PROFILE_FABRIC)
        berth_bindover_say(
            binding, &binding->note, "; ",
            "the image has no library that a fabric of this host could replace "
            "(--container-libs=%s)",
            inside->request->libs);
}

static const struct berth_stack *find_called(const struct berth_stacks *stacks,
                                             const char *name)
{
    for (size_t i = 0; i < stacks->count; i++) {
        const struct berth_stack *stack = &stacks->items[i];
        bool is_there = stack->version != NULL;

        if (is_there && stack->profile->kind != BERTH_PROFILE_MPI &&
            berth_profile_is_called(stack->profile, name))
            return stack;
    }
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
    if (!kind_of(stack)->is_network)
        return 0;
    if (berth_request_mpi_is(request, BERTH_MODE_HYBRID) ||
        berth_request_mpi_is(request, BERTH_MODE_AUTO))
        return 0;
    berth_err_set(err,
                  "--container-libs=%s: it is for an image's own MPI whose ranks srun "
                  "starts, not for --mpi-bind=%s; choose --mpi-bind=hybrid, or leave "
                  "--container-libs out",
                  name, berth_request_mode(request));
    return berth_err_mark(err, BERTH_ERR_OPTION);
}

/* Two profiles do not replace one library of the image. */
static int check_pair(const struct berth_stack *a, const struct berth_stack *b,
                      struct berth_err *err)
{
    if (!kind_of(a)->is_partial || !kind_of(b)->is_partial)
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

/* Are the names of REQUEST those of STACKS, and do no two libraries replace one of an
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
    for (size_t i = 0; i < stacks->count; i++) {
        const struct berth_stack *stack = &stacks->items[i];

        if (stack->profile->kind == kind && use_stack(programs, stack, err) < 0)
            return -1;
    }
    name_used(programs, kind);
    return 0;
}
