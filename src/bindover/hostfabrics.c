/* SPDX-License-Identifier: Apache-2.0 */
/* Which libraries of a network this host has, for the image's own MPI, and which others
 * for the place of an image's. */

#include "bindover/hostfabrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/resolve.h"
#include "base/text.h"
#include "bindover/loader.h"

struct search {
    struct berth_factcache *cache;
    struct berth_strvec env; /* for the loader */
    const char *path;        /* LD_LIBRARY_PATH; NULL: none */
    char *loader;
    char *program;
};

/* Below PREFIX, the first of PLACES that has SONAME. */
static int find_below(const char *prefix, const char *const *places, const char *soname,
                      struct berth_strvec *ret, struct berth_err *err)
{
    for (; *places; places++) {
        BERTH_FREE char *path = NULL;

        if (asprintf(&path, "%s/%s/%s", prefix, *places, soname) < 0)
            return berth_err_oom(err);
        if (access(path, R_OK) < 0)
            continue;
        berth_strvec_push(ret, path);
        break;
    }
    return ret->failed ? berth_err_oom(err) : 0;
}

/* The libraries SONAMES (NULL: none) of PROFILE that are there, in any order. */
static int find_libraries(const struct search *search,
                          const struct berth_profile *profile,
                          const char *const *sonames, struct berth_strvec *ret,
                          struct berth_err *err)
{
    static const char *const places[] = {"lib64", "lib", NULL};

    if (!sonames)
        return 0;
    if (!profile->prefix)
        return berth_loader_find(search->cache, search->loader, search->program,
                                 sonames, search->env.items, ret, err);
    for (; *sonames; sonames++)
        if (find_below(profile->prefix, places, *sonames, ret, err) < 0)
            return -1;
    return 0;
}

static const char *find_path(const struct berth_strvec *paths, const char *soname)
{
    for (size_t i = 0; i < paths->count; i++)
        if (strcmp(berth_text_base(paths->items[i]), soname) == 0)
            return paths->items[i];
    return NULL;
}

/* Of PATHS, the library that the host must have of PROFILE: the first that it names; of
 * libraries that replace others any, since each replaces its own name. NULL: none. */
static const char *find_first(const struct berth_profile *profile,
                              const struct berth_strvec *paths)
{
    const char *const *it = profile->adds ? profile->adds : profile->replaces;
    bool is_any = profile->kind == BERTH_PROFILE_LIBRARIES && !profile->adds;
    const char *found = find_path(paths, *it);

    while (is_any && !found && *++it)
        found = find_path(paths, *it);
    return found;
}

/* Add to STACK those of SONAMES (NULL: none) that are among PATHS. False: no memory. */
static bool push(const char *const *sonames, const struct berth_strvec *paths,
                 struct berth_stack *stack)
{
    for (; sonames && *sonames; sonames++) {
        const char *path = find_path(paths, *sonames);
        const struct berth_stack_library library = {.soname = (char *)*sonames,
                                                    .path = (char *)path};

        if (path && !berth_stack_push(stack, &library))
            return false;
    }
    return true;
}

/* Of libraries, what of `replaces` is there. False: no memory. */
static bool name_replaced(struct berth_stack *stack)
{
    const char *const *it = stack->profile->replaces;

    for (; stack->profile->kind == BERTH_PROFILE_LIBRARIES && it && *it; it++)
        for (size_t i = 0; i < stack->count; i++)
            if (strcmp(stack->libraries[i].soname, *it) == 0)
                berth_strvec_push(&stack->sonames, *it);
    return !stack->sonames.failed;
}

/* "the loader", or whose prefix it is. */
static char *say_origin(const struct berth_profile *profile)
{
    char *text = NULL;

    if (!profile->prefix && !profile->nearby)
        return strdup("the loader");
    return asprintf(&text, "profile '%s'", profile->name) < 0 ? NULL : text;
}

static int add(const struct search *search, const struct berth_profile *profile,
               const struct berth_strvec *paths, struct berth_stacks *stacks,
               struct berth_err *err)
{
    struct berth_stack stack = {.profile = profile};
    const char *first = find_first(profile, paths);
    BERTH_FREE char *real = berth_resolve(first);

    stack.version = strdup(berth_text_base(real ? real : first));
    stack.origin = say_origin(profile);
    stack.search = search->path ? strdup(search->path) : NULL;
    if (!stack.version || !stack.origin || (search->path && !stack.search) ||
        !berth_stacks_push(stacks, &stack)) {
        berth_stack_fini(&stack);
        return berth_err_oom(err);
    }
    return push(profile->adds, paths, &stacks->items[stacks->count - 1]) &&
                   push(profile->replaces, paths, &stacks->items[stacks->count - 1]) &&
                   name_replaced(&stacks->items[stacks->count - 1])
               ? 0
               : berth_err_oom(err);
}

/* Is the library PATH what the profile is for? One of the same SONAME may be another.
 */
static bool is_meant(const struct search *search, const struct berth_profile *profile,
                     const char *path)
{
    struct berth_closure closure;
    bool found;

    if (profile->kind != BERTH_PROFILE_LIBRARIES ||
        berth_profile_is_needed(profile, berth_text_base(path)))
        return true;
    if (berth_loader_list(search->cache, search->loader, path, search->env.items,
                          &closure, NULL) < 0)
        return false;
    found = berth_profile_has_needed(profile, &closure);
    berth_closure_fini(&closure);
    return found;
}

/* Remove PATH, a string of PATHS, which are in no order. */
static void drop(struct berth_strvec *paths, const char *path)
{
    size_t at = 0;

    while (paths->items[at] != path)
        at++;
    free(paths->items[at]);
    paths->items[at] = paths->items[--paths->count];
    paths->items[paths->count] = NULL;
}

/* Remove from PATHS the libraries that are others than the profile is for, and stand
 * before those that are. Returns whether any is. */
static bool keep_meant(const struct search *search, const struct berth_profile *profile,
                       struct berth_strvec *paths)
{
    const char *first;

    while ((first = find_first(profile, paths))) {
        if (is_meant(search, profile, first))
            return true;
        drop(paths, first);
    }
    return false;
}

/* Among PATHS only what is in PLACE, from the directory of the first library. */
static int look_beside(const struct berth_profile *profile, const char *first,
                       const char *place, struct berth_strvec *paths,
                       struct berth_err *err)
{
    const char *const lists = *place == '/' ? "" : first;
    const char *const places[] = {place, NULL};
    const char *const *const sonames[] = {profile->adds, profile->replaces};
    BERTH_FREE char *directory =
        strndup(lists, *lists ? (size_t)(strrchr(lists, '/') - lists) : 0);

    if (!directory)
        return berth_err_oom(err);
    berth_strvec_fini(paths);
    for (int i = 0; i < 2; i++)
        for (const char *const *it = sonames[i]; it && *it; it++)
            if (find_below(directory, places, *it, paths, err) < 0)
                return -1;
    return 0;
}

/* Look for libraries first where the profile says, then take PATHS as they are. */
static int look_nearby(const struct search *search, const struct berth_profile *profile,
                       struct berth_strvec *paths, struct berth_err *err)
{
    const char *const *place = profile->nearby;
    BERTH_STRVEC struct berth_strvec found = {0};
    const char *first = find_first(profile, paths);

    if (profile->kind != BERTH_PROFILE_LIBRARIES || profile->prefix)
        return 0;
    for (; place && *place; place++) {
        if (!first && **place != '/')
            continue;
        if (look_beside(profile, first, *place, &found, err) < 0)
            return -1;
        if (!keep_meant(search, profile, &found))
            continue;
        berth_strvec_fini(paths);
        *paths = found;
        found = (struct berth_strvec){0};
        return 0;
    }
    return 0;
}

static int find_all(const struct search *search, const struct berth_profile *profiles,
                    struct berth_stacks *stacks, struct berth_err *err)
{
    for (const struct berth_profile *it = profiles; it->name; it++) {
        BERTH_STRVEC struct berth_strvec paths = {0};

        if (it->kind == BERTH_PROFILE_MPI)
            continue;
        if (find_libraries(search, it, it->adds, &paths, err) < 0 ||
            find_libraries(search, it, it->replaces, &paths, err) < 0 ||
            look_nearby(search, it, &paths, err) < 0)
            return -1;
        if (keep_meant(search, it, &paths) && add(search, it, &paths, stacks, err) < 0)
            return -1;
    }
    return 0;
}

int berth_fabrics_find(struct berth_factcache *cache,
                       const struct berth_profile *profiles, char *const *env,
                       struct berth_stacks *ret_stacks, struct berth_err *err)
{
    struct search search = {.cache = cache,
                            .path = berth_environ_value(env, "LD_LIBRARY_PATH")};
    struct berth_stacks stacks = {0};
    int result;

    berth_strvec_pushf(&search.env, "LD_LIBRARY_PATH=%s",
                       search.path ? search.path : "");
    result = search.env.failed
                 ? berth_err_oom(err)
                 : berth_loader_self(&search.loader, &search.program, err);
    if (result == 0)
        result = find_all(&search, profiles, &stacks, err);
    if (result == 0)
        *ret_stacks = stacks;
    else
        berth_stacks_fini(&stacks);
    free(search.loader);
    free(search.program);
    berth_strvec_fini(&search.env);
    return result;
}
