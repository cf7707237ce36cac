/* SPDX-License-Identifier: Apache-2.0 */
/* Lets the image's loader confirm that what was mounted is what runs. */

#include "bindover/verify.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/resolve.h"
#include "bindover/loader.h"

/* Is PAIR, of two, in LIST, of pairs? */
static bool has_pair(const struct berth_strvec *list, char *const *pair)
{
    for (size_t i = 0; i + 1 < list->count; i += 2)
        if (strcmp(list->items[i], pair[0]) == 0 &&
            strcmp(list->items[i + 1], pair[1]) == 0)
            return true;
    return false;
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

/* Ask the loader what TARGET loads now. */
static int ask(const struct berth_replacement *replacement,
               const struct berth_scan *scan, const char *target, char *const *env,
               struct berth_closure *ret_closure, struct berth_err *err)
{
    /* The rules of MPI have judged its symbols. */
    if (berth_replacement_is_mpi(replacement))
        return berth_loader_list(NULL, scan->loader, target, env, ret_closure, err);
    return berth_loader_relocate(scan->loader, target, env, ret_closure, err);
}

/* The same for the program, or for the staged library that the program may load later.
 */
static int list(struct berth_replacement *replacement, const struct berth_scan *scan,
                char *const *env, struct berth_err *err)
{
    const struct berth_mpi_object *library = first_library(replacement);

    if (!scan->loader)
        return berth_mpi_refuse_static(scan->runner, NULL, err);
    replacement->target = scan->runner;
    if (!replacement->is_linked && library)
        replacement->target = library->path;
    berth_closure_fini(&replacement->closure);
    return ask(replacement, scan, replacement->target, env, &replacement->closure, err);
}

/* Add the mount of the host's copy over the image's where the loader shows the wrong
 * one. */
static void resolve_collisions(const struct berth_replacement *replacement,
                               struct berth_operations *operations)
{
    const struct berth_closure *closure = &replacement->closure;

    for (size_t i = 0; i < closure->count; i++) {
        const struct berth_closure_item *item = &closure->items[i];
        const struct berth_mpi_choice *choice = find_collision(replacement, item);
        BERTH_FREE char *real = NULL;

        if (!choice || !item->path)
            continue;
        real = berth_resolve(item->path);
        if (real && !berth_replacement_staged(replacement, real))
            berth_operations_mount(operations, choice->host->path, real, replacement);
    }
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

    for (size_t i = 0; i < closure->count; i++) {
        const char *soname = closure->items[i].soname;

        if (closure->items[i].path)
            continue;
        if (is_missing_anyway(scan, soname))
            return berth_err_set(err,
                                 "'%s' needs '%s', which is not in the image; install "
                                 "it there, or mount the directory that has it and "
                                 "name that in LD_LIBRARY_PATH (--container-env)",
                                 scan->runner, soname);
        return berth_err_set(err,
                             "with the host's %s, '%s' is not found in the image%s",
                             berth_replacement_name(replacement), soname, advice);
    }
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

/* Is the file PATH of the image, which the loader found for SONAME, one of the
 * libraries that are to be replaced? */
static bool is_to_be_replaced(const struct berth_replacement *replacement,
                              const struct berth_scan *scan, const char *soname,
                              const char *path)
{
    const struct berth_mpi_object *object = berth_mpi_objects_at(&scan->objects, path);

    if (!berth_replacement_is_mpi(replacement))
        return berth_replacement_replaces(replacement, soname);
    return object && object->library.family == replacement->family;
}

/* Refuses TARGET, which would get the image's library PATH, or none (NULL). */
static int refuse_image(const struct berth_replacement *replacement, const char *target,
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
    bool must_have_mpi =
        berth_replacement_is_mpi(replacement) && replacement->is_linked;
    bool has_mpi = false;

    if (check_complete(replacement, closure, scan, err) < 0 ||
        check_symbols(replacement, closure, err) < 0)
        return -1;
    for (size_t i = 0; i < closure->count; i++) {
        const struct berth_closure_item *item = &closure->items[i];
        BERTH_FREE char *real = berth_resolve(item->path);
        const struct berth_mpi_object *staged;

        if (!real)
            continue;
        staged = berth_replacement_staged(replacement, real);
        if (staged && staged->library.family == replacement->family)
            has_mpi = true;
        if (!staged && is_to_be_replaced(replacement, scan, item->soname, real))
            return refuse_image(replacement, target, real, err);
    }
    if (must_have_mpi && !has_mpi)
        return refuse_image(replacement, target, NULL, err);
    return 0;
}

/* The same check, without further mounts, for TARGET, a file that loads the libraries
 * later, or one of them. */
static int verify_file(const struct berth_replacement *replacement,
                       const struct berth_scan *scan, const char *target,
                       char *const *env, struct berth_err *err)
{
    BERTH_CLOSURE struct berth_closure closure = {0};

    if (ask(replacement, scan, target, env, &closure, err) < 0)
        return -1;
    return check_replaced(replacement, scan, target, &closure, err);
}

/* Checks the files of the image that use the libraries. */
static int verify_users(const struct berth_replacement *replacement,
                        const struct berth_scan *scan, char *const *env,
                        struct berth_err *err)
{
    const struct berth_strvec *files = &replacement->users.files;

    for (size_t i = 0; i < files->count; i++)
        if (verify_file(replacement, scan, files->items[i], env, err) < 0)
            return -1;
    return 0;
}

/* Checks the libraries that the stack adds, as far as they are staged. */
static int verify_added(const struct berth_replacement *replacement,
                        const struct berth_scan *scan, char *const *env,
                        struct berth_err *err)
{
    const char *const *added = replacement->stack->profile->adds;

    if (!added)
        return 0;
    for (; *added; added++) {
        const struct berth_mpi_object *staged =
            berth_mpi_objects_find(&replacement->staged, *added);

        if (staged && verify_file(replacement, scan, staged->path, env, err) < 0)
            return -1;
    }
    return 0;
}

int berth_replacement_verify(struct berth_replacement *replacement,
                             const struct berth_scan *scan,
                             struct berth_operations *operations, char *const *env,
                             struct berth_err *err)
{
    const struct berth_closure *closure = &replacement->closure;
    size_t before = operations->count;

    if (list(replacement, scan, env, err) < 0)
        return -1;
    resolve_collisions(replacement, operations);
    if (berth_operations_do(operations, before, err) < 0)
        return -1;
    /* The host's copies may need other libraries. */
    if (operations->count != before && list(replacement, scan, env, err) < 0)
        return -1;

    if (berth_loader_check_c_library(scan->loader, scan->runner, env, closure, err) < 0)
        return -1;
    if (check_replaced(replacement, scan, scan->runner, closure, err) < 0)
        return -1;
    if (verify_users(replacement, scan, env, err) < 0)
        return -1;
    return verify_added(replacement, scan, env, err);
}
