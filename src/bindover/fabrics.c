/* SPDX-License-Identifier: Apache-2.0 */
/* The host's network libraries under an image's own MPI, and other libraries of the
 * host: whether they can stand for the image's, by the symbols that these have and
 * somebody needs. */

#include "bindover/fabrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/resolve.h"
#include "base/text.h"
#include "bindover/named.h"
#include "bindover/parent.h"
#include "bindover/users.h"
#include "mpi/profile.h"
#include "plan/fallback.h"
#include "plan/gpu.h"
#include "site/fabric.h"

extern char **environ;

struct use {
    const struct berth_inside *inside;
    struct berth_scan *scan;
    const struct berth_stack *stack;
    struct berth_replacement *replacement;
    const struct berth_mpi_program *wants;
    bool has_host;            /* the host's MPI is in the container */
    enum berth_reason reason; /* where the cause lies if it cannot be used */
    struct berth_users users; /* of what is replaced */
};

static bool is_of(const struct berth_stack *stack, enum berth_profile_kind kind)
{
    return (stack->profile->kind == BERTH_PROFILE_LIBRARIES) ==
           (kind == BERTH_PROFILE_LIBRARIES);
}

static bool is_library(const struct use *use)
{
    return is_of(use->stack, BERTH_PROFILE_LIBRARIES);
}

static bool is_named(const struct use *use)
{
    return berth_fabric_is_named(use->stack->profile, use->inside->request);
}

/* Find who in the image needs what is replaced; *RET_HAS: the image has some of it. */
static int find_users(struct use *use, bool *ret_has, struct berth_err *err)
{
    const char *const *replaces = berth_stack_replaces(use->stack);

    *ret_has = false;
    use->users.scan = use->scan;
    use->users.sonames = replaces;
    if (is_library(use))
        use->users.command = use->inside->command;
    if (!*replaces)
        return 0;
    if (berth_scan_names(use->scan, replaces, environ, err) < 0)
        return -1;
    for (const char *const *soname = replaces; *soname; soname++)
        *ret_has |= berth_mpi_objects_find(&use->scan->objects, *soname) != NULL;
    return *ret_has ? berth_users_find(&use->users, err) : 0;
}

/* Is it for a program of this step? What the image has is used where somebody needs it,
 * and what is added where there are GPUs: by name always. */
static bool is_wanted(const struct use *use, bool has_own)
{
    if (use->stack->profile->adds)
        return is_named(use) || berth_gpu_is_given(use->inside->task);
    return has_own && (is_named(use) || use->users.files.count > 0);
}

/* Only who names a plugin wants it in the place of one that the program has: an older
 * NCCL finds none with a path in its variable. */
static int check_own_plugin(struct use *use, struct berth_err *err)
{
    const struct berth_profile *profile = use->stack->profile;
    const char *const *it;

    if (!profile->adds || is_named(use))
        return 0;
    if (berth_scan_names(use->scan, profile->adds, environ, err) < 0)
        return -1;
    use->reason = BERTH_REASON_IMAGE;
    for (it = profile->adds; *it; it++) {
        const struct berth_mpi_object *own =
            berth_mpi_objects_find(&use->scan->objects, *it);

        if (own)
            return berth_err_set(err, "the image has its own, '%s'", own->path);
    }
    for (it = profile->environment; it && *it; it++) {
        BERTH_FREE char *name = strndup(*it, strcspn(*it, "="));

        if (name && getenv(name))
            return berth_err_set(err, "%s is set", name);
    }
    use->reason = BERTH_REASON_NODE;
    return 0;
}

/* What the image has under the names of all that is staged. */
static int look_at_twins(const struct use *use, struct berth_err *err)
{
    const struct berth_mpi_objects *staged = &use->replacement->staged;
    BERTH_STRVEC struct berth_strvec names = {0};

    for (size_t i = 0; i < staged->count; i++) {
        const char *soname = staged->items[i].soname;

        if (soname && !berth_profile_is_glibc(soname) &&
            !berth_mpi_objects_find(&use->scan->objects, soname))
            berth_strvec_push(&names, soname);
    }
    if (names.failed)
        return berth_err_oom(err);
    return names.count == 0
               ? 0
               : berth_scan_names(use->scan, (const char *const *)names.items, environ,
                                  err);
}

/* The staged file for users that need SONAME; "" where there is none. Libraries may
 * have another SONAME than the name of their file: a site links libblas.so.3 to the
 * library of a vendor. The caller frees it; NULL: out of memory. */
static char *find_staged(const struct use *use, const char *soname)
{
    const struct berth_mpi_object *staged =
        berth_mpi_objects_find(&use->replacement->staged, soname);
    char *path = NULL;

    if (staged || !is_library(use))
        return strdup(staged ? staged->path : "");
    if (asprintf(&path, "%s/lib/%s", use->replacement->mounted, soname) < 0)
        return NULL;
    if (access(path, R_OK) < 0)
        *path = '\0';
    return path;
}

/* The host's libraries over those in directories of their own, too. */
static int plan_places(const struct use *use, struct berth_err *err)
{
    struct berth_strvec *binds = &use->replacement->binds;

    for (size_t i = 0; i < use->users.places.count; i += 2) {
        BERTH_FREE char *staged = find_staged(use, use->users.places.items[i]);

        if (!staged)
            return berth_err_oom(err);
        if (!*staged)
            return berth_err_set(err,
                                 "the image has '%s', and the host does not; leave "
                                 "--container-libs out",
                                 use->users.places.items[i + 1]);
        if (berth_strvec_has(binds, use->users.places.items[i + 1]))
            continue;
        berth_strvec_push(binds, staged);
        berth_strvec_push(binds, use->users.places.items[i + 1]);
    }
    return binds->failed ? berth_err_oom(err) : 0;
}

/* A library in the place of the image's looks for plugins beside itself first, and
 * would load those of the image: the directory of the host's goes over theirs. */
static int plan_plugins(const struct use *use, const char *library,
                        const struct berth_opener *opener, struct berth_err *err)
{
    struct berth_strvec *binds = &use->replacement->binds;
    int length = (int)(strrchr(library, '/') - library);

    for (const char *const *place = opener->places; *place; place++) {
        BERTH_FREE char *own = NULL;
        BERTH_FREE char *real = NULL;

        if (asprintf(&own, "%.*s/%s", length, library, *place) < 0)
            return berth_err_oom(err);
        real = berth_resolve(own);
        if (!real)
            continue;
        berth_strvec_pushf(binds, "%s/%s", use->replacement->mounted, opener->into);
        berth_strvec_push(binds, real);
        if (access(binds->items[binds->count - 2], F_OK) < 0)
            return berth_err_set(
                err,
                "the host's %s has no plugins, and would load those of "
                "the image in '%s'; leave --container-libs out",
                use->stack->version, real);
    }
    return binds->failed ? berth_err_oom(err) : 0;
}

static int plan_all_plugins(const struct use *use, struct berth_err *err)
{
    const struct berth_strvec *binds = &use->replacement->binds;
    size_t files = binds->count;

    for (size_t i = 0; i < files; i += 2)
        for (const struct berth_opener *it = berth_openers; it->library; it++)
            if (it->is_first &&
                berth_profile_is(berth_text_base(binds->items[i]), it->library) &&
                plan_plugins(use, binds->items[i + 1], it, err) < 0)
                return -1;
    return 0;
}

/* Does the site let it run? */
static int check_site(const struct use *use, struct berth_err *err)
{
    const struct berth_terms *terms = use->inside->terms;
    const struct berth_mpi_verdict *verdict = &use->replacement->verdict;

    if (!terms || !terms->keep_glibc ||
        verdict->answer != BERTH_VERDICT_YES_WITH_HOST_GLIBC)
        return 0;
    return berth_err_set(err,
                         "%s, which this site does not allow (%s); build the image on "
                         "a newer distribution, or leave --container-libs out",
                         verdict->because.text, terms->keep_glibc);
}

/* What is added brings other libraries of a network, which all of the process gets. */
static int check_twins(const struct use *use, struct berth_err *err)
{
    const struct berth_mpi_objects *staged = &use->replacement->staged;

    for (size_t i = 0; use->stack->profile->adds && i < staged->count; i++) {
        const char *soname = staged->items[i].soname;

        if (soname && berth_profile_is_fabric(soname) &&
            !berth_text_is_any(soname, use->users.sonames) &&
            berth_mpi_objects_find(&use->scan->objects, soname))
            return berth_err_set(err,
                                 "the image has '%s', too, which profile '%s' does not "
                                 "name in 'replaces'; leave --container-libs out",
                                 soname, use->stack->profile->name);
    }
    return 0;
}

/* What is added, as the image's loader sees it. */
static int verify_added(const struct use *use, struct berth_err *err)
{
    const char *const *soname = use->stack->profile->adds;

    for (; soname && *soname; soname++) {
        const struct berth_mpi_object *staged =
            berth_mpi_objects_find(&use->replacement->staged, *soname);

        if (staged && berth_replacement_verify_user(use->replacement, use->scan,
                                                    staged->path, environ, err) < 0)
            return -1;
    }
    return 0;
}

static int verify(const struct use *use, struct berth_err *err)
{
    if (berth_replacement_verify(use->replacement, use->scan, environ, err) < 0)
        return -1;
    for (size_t i = 0; i < use->users.files.count; i++)
        if (berth_replacement_verify_user(use->replacement, use->scan,
                                          use->users.files.items[i], environ, err) < 0)
            return -1;
    return verify_added(use, err);
}

/* Judge, mount and verify. */
static int put_over(struct use *use, struct berth_err *err)
{
    struct berth_replacement *replacement = use->replacement;

    if (look_at_twins(use, err) < 0 || check_twins(use, err) < 0 ||
        (is_library(use) &&
         berth_named_check_mpi(use->stack, &replacement->staged, use->has_host,
                               use->wants->family, err) < 0) ||
        berth_users_check(&use->users, &replacement->staged, use->stack, err) < 0 ||
        berth_replacement_plan_fabric(replacement, use->scan, environ, err) < 0 ||
        check_site(use, err) < 0 || plan_places(use, err) < 0 ||
        plan_all_plugins(use, err) < 0)
        return -1;
    if (berth_replacement_mount(replacement, err) < 0 ||
        berth_replacement_set(replacement, err) < 0)
        return -1;
    return verify(use, err);
}

/* A program without a loader loads no library. That is right for libraries, and not for
 * a network that is named: an MPI in the program has its own. */
static int check_static(const struct use *use, struct berth_err *err)
{
    if (is_library(use) || !is_named(use))
        return 0;
    return berth_err_set(err,
                         "'%s' is linked statically, and has no library that the "
                         "host's could stand for; leave --container-libs out",
                         use->scan->runner);
}

/* One fabric, the one of number AT. Returns 1 when it is in the container, 0 when the
 * image has nothing that it could stand for, or nobody needs it. */
static int use_one(struct use *use, size_t at, struct berth_err *err)
{
    const struct berth_profile *profile = use->stack->profile;
    bool has_own;

    if (!use->scan->loader)
        return check_static(use, err);
    if (find_users(use, &has_own, err) < 0)
        return -1;
    if (!has_own && !profile->adds && is_named(use))
        return berth_err_set(err,
                             "the image has no '%s' that the host's could stand for; "
                             "leave --container-libs out",
                             berth_stack_first(use->stack));
    if (!is_wanted(use, has_own))
        return 0;
    if (check_own_plugin(use, err) < 0)
        return -1;
    if (!use->stack->version)
        return berth_err_set(err, "profile '%s': this node has no such library in '%s'",
                             profile->name, profile->prefix);
    use->replacement->stack = use->stack;
    if (berth_parent_get_stage(use->inside, at, use->replacement, err) < 0)
        return -1;
    return put_over(use, err) < 0 ? -1 : 1;
}

/* Who leaves the choice to berth needs no advice. */
static void cut_advice(char *sentence)
{
    char *advice = strstr(sentence, "; leave --container-libs out");

    if (advice)
        *advice = '\0';
}

/* What the image has of the libraries that are replaced. */
static const char *name_replaced(const struct use *use)
{
    const char *const *it = berth_stack_replaces(use->stack);

    while (*it && !berth_mpi_objects_find(&use->scan->objects, *it))
        it++;
    return *it ? *it : berth_stack_first(use->stack);
}

/* Warn of one that nobody is known to need; the use of it was RESULT. */
static void warn_unused(const struct use *use, int result, struct berth_err *ret)
{
    if (result == 0 && is_library(use) && !use->scan->loader)
        berth_err_set(ret,
                      "'%s' is linked statically, so that the host's %s stands for "
                      "no library of it",
                      use->scan->runner, use->stack->version);
    if (result > 0 && use->users.files.count == 0 && !use->stack->profile->adds)
        berth_err_set(ret,
                      is_library(use)
                          ? "neither the program nor what it is known to load later "
                            "needs the image's '%s', for which the host's stands "
                            "(--container-libs=%s)"
                          : "neither the program nor a plugin of its MPI needs the "
                            "image's '%s', for which the host's stands "
                            "(--container-libs=%s)",
                      name_replaced(use), use->stack->profile->name);
}

/* Refuse, for what ERR says, if the image's own network library may not stay. */
static int keep_own(const struct berth_inside *inside, enum berth_reason reason,
                    struct berth_err *err)
{
    const struct berth_err because = *err;

    return berth_fallback_refuse(
        berth_fallback_fabric(inside->request, inside->reach.nodes, reason), &because,
        err);
}

/* Try the fabric of number I for a program. */
static int try_one(const struct berth_inside *inside, size_t i,
                   struct berth_fabrics *program, struct berth_err *err)
{
    struct use use = {.inside = inside,
                      .scan = program->scan,
                      .stack = &inside->fabrics->items[i],
                      .replacement = &program->items[program->count],
                      .wants = program->wants,
                      .reason = BERTH_REASON_NODE,
                      .has_host = program->has_host};
    int result = use_one(&use, inside->stacks->count + i, err);

    warn_unused(&use, result, &program->warning);
    berth_users_fini(&use.users);
    if (result >= 0) {
        program->count += result;
        return 0;
    }
    berth_replacement_undo(use.replacement);
    berth_replacement_fini(use.replacement);
    if (is_named(&use))
        return berth_err_at(err, "--container-libs=%s", use.stack->profile->name);
    cut_advice(err->text);
    program->refused[i] = *err;
    return keep_own(inside, use.reason, err);
}

/* Each of several programs was judged by the image's own files. What one of them cannot
 * use is for none; the rest is mounted again, each file once. */
static int mount_again(const struct berth_inside *inside,
                       struct berth_fabrics *const *programs, size_t count,
                       struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec bound = {0};

    for (size_t k = 0; k < count; k++) {
        int kept = 0;

        for (int j = 0; j < programs[k]->count; j++) {
            struct berth_replacement *it = &programs[k]->items[j];

            if (berth_fabrics_refusal(programs, count,
                                      berth_fabrics_number(inside, it))) {
                berth_replacement_fini(it);
                continue;
            }
            berth_replacement_leave_out(it, &bound);
            if (bound.failed)
                return berth_err_oom(err);
            if (berth_replacement_mount(it, err) < 0)
                return -1;
            programs[k]->items[kept++] = *it;
        }
        programs[k]->count = kept;
    }
    return 0;
}

bool berth_fabrics_are_asked(const struct berth_inside *inside)
{
    for (size_t i = 0; i < inside->fabrics->count; i++)
        if (is_of(&inside->fabrics->items[i], BERTH_PROFILE_FABRIC))
            return true;
    return berth_request_has_auto_libs(inside->request);
}

bool berth_fabrics_witness_libraries(const struct berth_inside *inside)
{
    return !berth_request_mpi_may_host(inside->request) &&
           !berth_fabrics_are_asked(inside);
}

/* Does the host have what is asked for, and not too much of it? */
static int check_host(const struct berth_inside *inside, enum berth_profile_kind kind,
                      struct berth_err *err)
{
    if (inside->fabrics->count > BERTH_FABRICS_MAX)
        return berth_err_set(err,
                             "this host has %zu fabrics and libraries that the step "
                             "asks for, and a step has at most %d; name fewer of them "
                             "in --container-libs",
                             inside->fabrics->count, BERTH_FABRICS_MAX);
    return kind == BERTH_PROFILE_LIBRARIES
               ? berth_named_check(inside->fabrics, inside->request, err)
               : 0;
}

/* Does a fabric that is in use stand for a library that STACK would replace? A site's
 * profile comes before berth's own. Plugins share it. */
static bool is_covered(const struct berth_fabrics *program,
                       const struct berth_stack *stack)
{
    const char *const *it = berth_stack_replaces(stack);

    for (; !stack->profile->adds && *it; it++)
        for (int j = 0; j < program->count; j++)
            if (!program->items[j].stack->profile->adds &&
                berth_text_is_any(*it, berth_stack_replaces(program->items[j].stack)))
                return true;
    return false;
}

int berth_fabrics_use(const struct berth_inside *inside,
                      struct berth_fabrics *const *programs, size_t count,
                      struct berth_err *ret_note, struct berth_err *err)
{
    enum berth_profile_kind kind = programs[0]->kind;

    if (check_host(inside, kind, err) < 0)
        return -1;
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < inside->fabrics->count; i++)
            if (is_of(&inside->fabrics->items[i], kind) &&
                !is_covered(programs[k], &inside->fabrics->items[i]) &&
                try_one(inside, i, programs[k], err) < 0)
                return -1;
        for (int j = programs[k]->count - 1; count > 1 && j >= 0; j--)
            berth_replacement_undo(&programs[k]->items[j]);
    }
    for (size_t k = 0; k < count; k++)
        if (!*programs[k]->warning.text) /* this one needs it */
            *programs[0]->warning.text = '\0';
    if (count > 1 && mount_again(inside, programs, count, err) < 0)
        return -1;
    berth_fabrics_say(inside, programs, count, ret_note);
    return 0;
}

void berth_fabrics_name(const struct berth_fabrics *fabrics, struct berth_buf *ret)
{
    for (int i = 0; i < fabrics->count; i++)
        berth_buf_addf(ret, "%s%s (%s)", i ? " or " : "",
                       fabrics->items[i].stack->version,
                       fabrics->items[i].stack->profile->name);
}
