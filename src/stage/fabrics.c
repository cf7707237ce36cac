/* SPDX-License-Identifier: Apache-2.0 */
/* Which libraries of a network this host has, for the image's own MPI. */

#include "stage/fabrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/resolve.h"
#include "base/text.h"
#include "stage/loader.h"

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

/* The libraries of PROFILE that are there, in any order. */
static int find_libraries(const struct search *search,
                          const struct berth_profile *profile, struct berth_strvec *ret,
                          struct berth_err *err)
{
    if (!profile->prefix)
        return berth_loader_find(search->cache, search->loader, search->program,
                                 profile->replaces, search->env.items, ret, err);
    for (const char *const *soname = profile->replaces; *soname; soname++)
        if (find_below(profile->prefix, *soname, ret, err) < 0)
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
    BERTH_FREE char *real = berth_resolve(find_path(paths, profile->replaces[0]));

    stack.version = strdup(real ? berth_text_base(real) : profile->replaces[0]);
    stack.origin = say_origin(profile);
    stack.search = search->path ? strdup(search->path) : NULL;
    if (!stack.version || !stack.origin || (search->path && !stack.search) ||
        !berth_stacks_push(stacks, &stack)) {
        berth_stack_fini(&stack);
        return berth_err_oom(err);
    }
    for (const char *const *soname = profile->replaces; *soname; soname++) {
        const char *path = find_path(paths, *soname);
        const struct berth_stack_library library = {.soname = (char *)*soname,
                                                    .path = (char *)path};

        if (path && !berth_stack_push(&stacks->items[stacks->count - 1], &library))
            return berth_err_oom(err);
    }
    return 0;
}

static int find_all(const struct search *search, const struct berth_profile *profiles,
                    struct berth_stacks *stacks, struct berth_err *err)
{
    for (const struct berth_profile *it = profiles; it->name; it++) {
        BERTH_STRVEC struct berth_strvec paths = {0};

        if (it->kind != BERTH_PROFILE_FABRIC)
            continue;
        if (find_libraries(search, it, &paths, err) < 0)
            return -1;
        if (find_path(&paths, it->replaces[0]) &&
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
