/* SPDX-License-Identifier: Apache-2.0 */
/* Which libraries of a network this host has, for the image's own MPI. */

#include "discover/fabrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/resolve.h"
#include "base/text.h"
#include "discover/loader.h"

struct search {
    struct berth_factcache *cache;
    struct berth_strvec env; /* for the loader */
    const char *path;        /* LD_LIBRARY_PATH; NULL: none */
    char *loader;
    char *program;
};

/* Below PREFIX, the first directory that has SONAME. */
static int find_below(const char *prefix, const char *soname, struct berth_strvec *ret,
                      struct berth_err *err)
{
    static const char *const places[] = {"lib64", "lib"};

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        BERTH_FREE char *path = NULL;

        if (asprintf(&path, "%s/%s/%s", prefix, places[i], soname) < 0)
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
    if (!sonames)
        return 0;
    if (!profile->prefix)
        return berth_loader_find(search->cache, search->loader, search->program,
                                 sonames, search->env.items, ret, err);
    for (; *sonames; sonames++)
        if (find_below(profile->prefix, *sonames, ret, err) < 0)
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

/* "the loader", or whose prefix it is. */
static char *say_origin(const struct berth_profile *profile)
{
    char *text = NULL;

    if (!profile->prefix)
        return strdup("the loader");
    return asprintf(&text, "profile '%s'", profile->name) < 0 ? NULL : text;
}

static int add(const struct search *search, const struct berth_profile *profile,
               const struct berth_strvec *paths, struct berth_stacks *stacks,
               struct berth_err *err)
{
    struct berth_stack stack = {.profile = profile};
    BERTH_FREE char *real =
        berth_resolve(find_path(paths, berth_profile_first(profile)));

    stack.version = strdup(real ? berth_text_base(real) : berth_profile_first(profile));
    stack.origin = say_origin(profile);
    stack.search = search->path ? strdup(search->path) : NULL;
    if (!stack.version || !stack.origin || (search->path && !stack.search) ||
        !berth_stacks_push(stacks, &stack)) {
        berth_stack_fini(&stack);
        return berth_err_oom(err);
    }
    return push(profile->adds, paths, &stacks->items[stacks->count - 1]) &&
                   push(profile->replaces, paths, &stacks->items[stacks->count - 1])
               ? 0
               : berth_err_oom(err);
}

static int find_all(const struct search *search, const struct berth_profile *profiles,
                    struct berth_stacks *stacks, struct berth_err *err)
{
    for (const struct berth_profile *it = profiles; it->name; it++) {
        BERTH_STRVEC struct berth_strvec paths = {0};

        if (it->kind != BERTH_PROFILE_FABRIC)
            continue;
        if (find_libraries(search, it, it->adds, &paths, err) < 0 ||
            find_libraries(search, it, it->replaces, &paths, err) < 0)
            return -1;
        if (find_path(&paths, berth_profile_first(it)) &&
            add(search, it, &paths, stacks, err) < 0)
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
