/* SPDX-License-Identifier: Apache-2.0 */
/* Asks berth-mpi for stages, and mounts these over the libraries of the image, until
 * the image's loader confirms what runs. */

#include "bindover/bindover.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "base/cleanup.h"
#include "base/resolve.h"
#include "bindover/loader.h"
#include "site/fabric.h"
#include "ipc/channel.h"

extern char **environ;

/* The root of an Apptainer container is unbindable (mount_namespaces(7)): nothing of it
 * can be the source of a bind mount as long as it is. */
static int bind_of_root(const char *from, const char *over)
{
    int result, number;

    if (mount(NULL, "/", NULL, MS_PRIVATE, NULL) < 0)
        return -1;
    result = mount(from, over, NULL, MS_BIND, NULL);
    number = errno;
    mount(NULL, "/", NULL, MS_UNBINDABLE, NULL);
    errno = number;
    return result;
}

static int bind_file(const char *from, const char *over)
{
    if (mount(from, over, NULL, MS_BIND, NULL) == 0)
        return 0;
    return errno == EINVAL ? bind_of_root(from, over) : -1;
}

/* Is PAIR, of two, in LIST, of pairs? */
static bool has_pair(const struct berth_strvec *list, char *const *pair)
{
    for (size_t i = 0; i + 1 < list->count; i += 2)
        if (strcmp(list->items[i], pair[0]) == 0 &&
            strcmp(list->items[i + 1], pair[1]) == 0)
            return true;
    return false;
}

/* Drop the planned mounts that are in BOUND, and append the others to BOUND. */
static void drop_bound(struct berth_strvec *pairs, struct berth_strvec *bound)
{
    size_t kept = 0;

    for (size_t i = 0; i + 1 < pairs->count; i += 2) {
        char *pair[] = {pairs->items[i], pairs->items[i + 1]};

        if (has_pair(bound, pair)) {
            free(pair[0]);
            free(pair[1]);
            continue;
        }
        berth_strvec_push_pair(bound, pair[0], pair[1]);
        pairs->items[kept++] = pair[0];
        pairs->items[kept++] = pair[1];
    }
    pairs->count = kept;
    if (pairs->items)
        pairs->items[kept] = NULL;
}

int berth_replacement_mount(struct berth_replacement *replacement,
                            struct berth_err *err)
{
    for (; replacement->done < replacement->binds.count; replacement->done += 2) {
        const char *from = replacement->binds.items[replacement->done];
        const char *over = replacement->binds.items[replacement->done + 1];

        if (bind_file(from, over) < 0)
            return berth_err_set(err, "cannot mount '%s' over '%s': %s", from, over,
                                 strerror(errno));
    }
    return 0;
}

/* Set the variables in this process. */
static int set(const struct berth_replacement *replacement, struct berth_err *err)
{
    for (size_t i = 0; i < replacement->set.count; i++) {
        const char *item = replacement->set.items[i];
        BERTH_FREE char *name = strndup(item, strcspn(item, "="));

        if (!name || setenv(name, strchr(item, '=') + 1, 1) < 0)
            return berth_err_oom(err);
    }
    return 0;
}

void berth_replacement_undo(struct berth_replacement *replacement)
{
    for (; replacement->done > 0; replacement->done -= 2)
        umount2(replacement->binds.items[replacement->done - 1], MNT_DETACH);
}

/* The choice of the host's copy for a library that both sides have; NULL: ITEM needs no
 * choice, or the image's copy was chosen. */
static const struct berth_mpi_choice *
find_collision(const struct berth_replacement *replacement,
               const struct berth_closure_item *item)
{
    for (size_t i = 0; i < replacement->verdict.choices.count; i++) {
        const struct berth_mpi_choice *choice = &replacement->verdict.choices.items[i];

        if (choice->from_host && strcmp(choice->host->soname, item->soname) == 0)
            return choice;
    }
    return NULL;
}

/* The library for whose sake the others are staged; NULL: there is none. */
static const struct berth_mpi_object *
first_library(const struct berth_replacement *replacement)
{
    const char *soname;

    if (berth_replacement_is_mpi(replacement))
        return berth_mpi_objects_mpi(&replacement->staged, replacement->family);
    soname = *berth_stack_replaces(replacement->stack);
    return soname ? berth_mpi_objects_find(&replacement->staged, soname) : NULL;
}

/* Ask the loader what TARGET loads now; the rules of MPI have judged its symbols. */
static int ask(const struct berth_replacement *replacement,
               const struct berth_scan *scan, const char *target, char *const *env,
               struct berth_closure *ret_closure, struct berth_err *err)
{
    return berth_replacement_is_mpi(replacement)
               ? berth_loader_list(NULL, scan->loader, target, env, ret_closure, err)
               : berth_loader_relocate(scan->loader, target, env, ret_closure, err);
}

/* The same for the program, or the staged library. */
static int list(struct berth_replacement *replacement, const struct berth_scan *scan,
                char *const *env, struct berth_err *err)
{
    const struct berth_mpi_object *library = first_library(replacement);

    if (!scan->loader)
        return berth_mpi_refuse_static(scan->runner, NULL, err);
    replacement->target =
        replacement->is_linked || !library ? scan->runner : library->path;
    berth_closure_fini(&replacement->closure);
    return ask(replacement, scan, replacement->target, env, &replacement->closure, err);
}

/* Mount the host's copy over the image's where the loader shows the wrong one. */
static int resolve_collisions(struct berth_replacement *replacement,
                              const struct berth_closure *closure,
                              struct berth_err *err)
{
    for (size_t i = 0; i < closure->count; i++) {
        const struct berth_closure_item *item = &closure->items[i];
        const struct berth_mpi_choice *choice = find_collision(replacement, item);
        BERTH_FREE char *real = item->path ? berth_resolve(item->path) : NULL;

        if (choice && real && !berth_replacement_staged(replacement, real))
            berth_strvec_push_pair(&replacement->binds, choice->host->path, real);
    }
    return replacement->binds.failed ? berth_err_oom(err)
                                     : berth_replacement_mount(replacement, err);
}

/* Did the image lack SONAME already before the mounts? */
static bool is_missing_anyway(const struct berth_scan *scan, const char *soname)
{
    const struct berth_closure_item *item = berth_closure_find(&scan->closure, soname);

    return item && !item->path;
}

/* Refuses a closure that lacks a library or a version. */
static int check_complete(const struct berth_replacement *replacement,
                          const struct berth_closure *closure,
                          const struct berth_scan *scan, struct berth_err *err)
{
    const char *advice = berth_replacement_advice(replacement);

    for (size_t i = 0; i < closure->count; i++)
        if (!closure->items[i].path &&
            is_missing_anyway(scan, closure->items[i].soname))
            return berth_err_set(err,
                                 "'%s' needs '%s', which is not in the image; install "
                                 "it there, or mount the directory that has it and "
                                 "name that in LD_LIBRARY_PATH (--container-env)",
                                 scan->runner, closure->items[i].soname);
        else if (!closure->items[i].path)
            return berth_err_set(
                err, "with the host's %s, '%s' is not found in the image%s",
                berth_replacement_name(replacement), closure->items[i].soname, advice);
    if (closure->lacks.count)
        return berth_err_set(err, "'%s' wants %s of '%s', which is older%s",
                             closure->lacks.items[2], closure->lacks.items[1],
                             closure->lacks.items[0], advice);
    return 0;
}

/* Refuses a closure in which a file of the image lacks a symbol that it did not lack
 * before. */
static int check_symbols(const struct berth_replacement *replacement,
                         const struct berth_closure *closure, struct berth_err *err)
{
    for (size_t i = 0; i < closure->undefined.count; i += 2) {
        char *const *pair = &closure->undefined.items[i];

        if (!has_pair(&replacement->users.undefined, pair) &&
            !berth_replacement_staged(replacement, pair[1]))
            return berth_err_set(
                err, "'%s' of the image needs %s, which the host's %s lacks", pair[1],
                pair[0], berth_replacement_name(replacement));
    }
    return 0;
}

/* Was the file PATH, which the loader found for SONAME, before the mounts a library of
 * the image that is replaced? */
static bool was_replaced(const struct berth_replacement *replacement,
                         const struct berth_scan *scan, const char *soname,
                         const char *path)
{
    const struct berth_mpi_object *object = berth_mpi_objects_at(&scan->objects, path);

    if (!berth_replacement_is_mpi(replacement))
        return berth_replacement_stands_for(replacement, soname);
    return object && object->library.family == replacement->family;
}

/* Refuses TARGET, which would get the image's library PATH, or none (NULL). */
static int refuse_own(const struct berth_replacement *replacement, const char *target,
                      const char *path, struct berth_err *err)
{
    return berth_err_set(err, "'%s' would run with %s and not with the host's %s%s",
                         target, path ? path : "no MPI",
                         berth_replacement_name(replacement),
                         berth_replacement_advice(replacement));
}

/* Checks CLOSURE, which is that of TARGET: every library that is replaced must be the
 * staged one, and a program that is linked with an MPI must load one. Files are
 * compared, not names: the program may want libmpi.so.12, and the host's may be
 * libmpich.so.12. */
static int check_replaced(const struct berth_replacement *replacement,
                          const struct berth_scan *scan, const char *target,
                          const struct berth_closure *closure, struct berth_err *err)
{
    bool found = false;

    if (check_complete(replacement, closure, scan, err) < 0 ||
        check_symbols(replacement, closure, err) < 0)
        return -1;
    for (size_t i = 0; i < closure->count; i++) {
        BERTH_FREE char *real = berth_resolve(closure->items[i].path);
        const struct berth_mpi_object *staged =
            real ? berth_replacement_staged(replacement, real) : NULL;

        if (staged)
            found |= staged->library.family == replacement->family;
        else if (real &&
                 was_replaced(replacement, scan, closure->items[i].soname, real))
            return refuse_own(replacement, target, real, err);
    }
    if (!found && berth_replacement_is_mpi(replacement) && replacement->is_linked)
        return refuse_own(replacement, target, NULL, err);
    return 0;
}

/* The same check, without further mounts, for TARGET, a file that loads the libraries
 * later, or one of them. */
static int verify_file(const struct berth_replacement *replacement,
                       const struct berth_scan *scan, const char *target,
                       char *const *env, struct berth_err *err)
{
    BERTH_CLOSURE struct berth_closure closure = {0};

    return ask(replacement, scan, target, env, &closure, err) < 0
               ? -1
               : check_replaced(replacement, scan, target, &closure, err);
}

/* Checks the files of the image that use the libraries, and those that are added. */
static int verify_users(const struct berth_replacement *replacement,
                        const struct berth_scan *scan, char *const *env,
                        struct berth_err *err)
{
    const struct berth_strvec *files = &replacement->users.files;
    const char *const *added = replacement->stack->profile->adds;

    for (size_t i = 0; i < files->count; i++)
        if (verify_file(replacement, scan, files->items[i], env, err) < 0)
            return -1;
    for (; added && *added; added++) {
        const struct berth_mpi_object *staged =
            berth_mpi_objects_find(&replacement->staged, *added);

        if (staged && verify_file(replacement, scan, staged->path, env, err) < 0)
            return -1;
    }
    return 0;
}

int berth_replacement_verify(struct berth_replacement *replacement,
                             const struct berth_scan *scan, char *const *env,
                             struct berth_err *err)
{
    size_t mounted = replacement->done;

    if (list(replacement, scan, env, err) < 0 ||
        resolve_collisions(replacement, &replacement->closure, err) < 0)
        return -1;
    /* The host's copies may need other libraries. */
    if (replacement->done != mounted && list(replacement, scan, env, err) < 0)
        return -1;
    if (berth_loader_check_c_library(scan->loader, scan->runner, env,
                                     &replacement->closure, err) < 0 ||
        check_replaced(replacement, scan, scan->runner, &replacement->closure, err) < 0)
        return -1;
    return verify_users(replacement, scan, env, err);
}

void berth_bindover_say(struct berth_binding *binding, char **text,
                        const char *separator, const char *format, ...)
{
    BERTH_FREE char *before = *text;
    BERTH_FREE char *sentence = NULL;
    va_list args;

    *text = NULL;
    va_start(args, format);
    if (vasprintf(&sentence, format, args) < 0)
        sentence = NULL;
    va_end(args);
    if (sentence && !before)
        *text = berth_steal(&sentence);
    else if (!sentence || asprintf(text, "%s%s%s", before, separator, sentence) < 0)
        *text = NULL;
    if (!*text)
        binding->facts.failed = true;
}

struct berth_replacement *berth_bindover_add(struct berth_program *program,
                                             const struct berth_stack *stack,
                                             enum berth_mpi_family family)
{
    struct berth_replacement *it = &program->items[program->count++];

    *it = (struct berth_replacement){.family = family, .stack = stack};
    return it;
}

/* Find the libraries that the image has, too, and of which a process gets one: beside
 * an MPI those of GCC, which a program without MPI may load before or after the host's.
 */
static int find_twins(struct berth_program *program,
                      const struct berth_replacement *replacement,
                      struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec names = {0};
    bool is_mpi = berth_replacement_is_mpi(replacement);

    if (is_mpi && program->wants.family != BERTH_FAMILY_NONE)
        return 0;
    for (size_t i = 0; i < replacement->staged.count; i++) {
        const char *soname = replacement->staged.items[i].soname;

        if ((is_mpi ? berth_profile_is_gcc(soname) : !berth_profile_is_glibc(soname)) &&
            !berth_mpi_objects_find(&program->scan.objects, soname))
            berth_strvec_push(&names, soname);
    }
    if (names.failed)
        return berth_err_oom(err);
    return names.count > 0
               ? berth_scan_names(&program->scan, (const char *const *)names.items,
                                  environ, err)
               : 0;
}

int berth_bindover_stage(const struct berth_decide *inside,
                         struct berth_program *program,
                         struct berth_replacement *replacement, struct berth_err *err)
{
    struct berth_channel_message answer;
    char number[24];
    char *newline;

    snprintf(number, sizeof(number), "%td", replacement->stack - inside->stacks->items);
    if (berth_channel_send(inside->channel, BERTH_CHANNEL_STAGE, number, err) < 0 ||
        berth_channel_receive(inside->channel, NULL, &answer, err) < 0)
        return -1;
    newline = strchr(answer.text, '\n');
    if (answer.kind != BERTH_CHANNEL_STAGED || !newline)
        return berth_channel_refusal(&answer, err);
    *newline = '\0';
    if (berth_replacement_open(inside->host_cache, newline + 1, answer.text,
                               replacement, err) < 0)
        return -1;
    return find_twins(program, replacement, err);
}

int berth_bindover_judge(struct berth_programs *programs,
                         const struct berth_program *program,
                         struct berth_replacement *replacement, struct berth_err *err)
{
    const struct berth_terms *terms = programs->inside->terms;
    const struct berth_fabric fabric = {
        .profile = replacement->stack->profile,
        .version = replacement->stack->version,
        .verdict = &replacement->verdict,
        .closure = &program->scan.closure,
        .env = environ,
        .keep_glibc = terms ? terms->keep_glibc : NULL,
    };

    if (berth_replacement_plan(replacement, &program->wants, &program->scan, environ,
                               err) < 0) {
        programs->reason = replacement->verdict.reason;
        return -1;
    }
    return berth_fabric_check(&fabric, err);
}

static int mount_new(const struct berth_program *program, struct berth_strvec *bound,
                     struct berth_err *err)
{
    for (int i = program->done; i < program->count; i++) {
        drop_bound(&program->items[i].binds, bound);
        if (bound->failed)
            return berth_err_oom(err);
        if (berth_replacement_mount(&program->items[i], err) < 0 ||
            set(&program->items[i], err) < 0)
            return -1;
    }
    return 0;
}

static int verify_new(const struct berth_programs *programs, struct berth_err *err)
{
    for (size_t k = 0; k < programs->count; k++) {
        const struct berth_program *program = &programs->items[k];

        for (int i = program->done; i < program->count; i++)
            if (berth_replacement_verify(&program->items[i], &program->scan, environ,
                                         err) < 0)
                return -1;
    }
    return 0;
}

/* Add to BINDING what REPLACEMENT has set and mounted, by the paths on the host. */
static void answer(const struct berth_replacement *replacement,
                   struct berth_binding *binding)
{
    const char *option =
        berth_replacement_is_mpi(replacement) ? "--mpi-bind" : "--container-libs";

    berth_strvec_append(&binding->set, &replacement->set);
    for (size_t i = 0; i < replacement->binds.count; i += 2) {
        if (berth_replacement_is_out(replacement, i))
            continue;
        berth_strvec_pushf(&binding->binds, "%s%s", replacement->host,
                           replacement->binds.items[i] + strlen(replacement->mounted));
        berth_strvec_push_pair(&binding->binds, replacement->binds.items[i + 1],
                               option);
    }
}

int berth_bindover_put(struct berth_programs *programs, struct berth_err *err)
{
    for (size_t k = 0; k < programs->count; k++)
        if (mount_new(&programs->items[k], &programs->bound, err) < 0)
            return -1;
    /* The mounts for one program may lie over files of another. */
    if (verify_new(programs, err) < 0 ||
        (programs->count > 1 && verify_new(programs, err) < 0))
        return -1;
    for (struct berth_program *it = programs->items;
         it < programs->items + programs->count; it++)
        for (; it->done < it->count; it->done++)
            answer(&it->items[it->done], &programs->binding);
    return 0;
}

void berth_bindover_drop(struct berth_programs *programs)
{
    for (size_t k = programs->count; k > 0; k--) {
        struct berth_program *program = &programs->items[k - 1];

        while (program->count > program->done) {
            berth_replacement_undo(&program->items[--program->count]);
            berth_replacement_fini(&program->items[program->count]);
        }
    }
}
