/* SPDX-License-Identifier: Apache-2.0 */
/* Which MPI stacks this host has, which libraries of a network for an image's own MPI,
 * and which others for the place of an image's. Looks where the environment and
 * profiles point and where the loader looks; what a library is, it reads in the
 * library. */

#include "bindover/hoststacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/grow.h"
#include "base/resolve.h"
#include "base/text.h"
#include "mpi/family.h"
#include "mpi/filenames.h"
#include "bindover/kind.h"
#include "bindover/loader.h"
#include "bindover/scan.h"

enum { STACKS_MAX = 64 };

struct search {
    const struct berth_profile *profiles;
    const struct berth_profile *given; /* whatever is found is its; NULL: find out */
    char *const *env;
    struct berth_strvec loader_env;
    char *loader;
    char *program;
    struct berth_factcache *cache;
    struct berth_stacks *to;
    struct berth_err *err;
};

/* "" of a library without one, so that it can be compared. */
static const char *soname_of(const struct berth_mpi_object *object)
{
    return object->elf.soname ? object->elf.soname : "";
}

static int by_soname(const void *a, const void *b)
{
    return strcmp(soname_of(a), soname_of(b));
}

/* The libraries of MPI in the directory PATH, in the order of their SONAMEs; none if
 * there is no directory. Each file is read once, since that takes time. */
static void read_directory(struct berth_factcache *cache, const char *path,
                           struct berth_mpi_objects *ret)
{
    glob_t found = {0};

    if (!berth_scan_glob(path, "lib*.so*", &found))
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        BERTH_FREE char *real = NULL;

        if (!berth_mpi_is_file_name(berth_text_base(found.gl_pathv[i])))
            continue;
        real = berth_resolve(found.gl_pathv[i]);
        if (real && !berth_mpi_objects_at(ret, real))
            berth_scan_add(cache, ret, BERTH_ROLE_LOADED, NULL, real, NULL);
    }
    globfree(&found);
    if (ret->count)
        qsort(ret->items, ret->count, sizeof(*ret->items), by_soname);
}

/* Is OBJECT a library of MPI that the directory has under its SONAME? Then
 * its path there is *RET_PATH, which the caller frees. */
static bool find_by_soname(const char *directory, const struct berth_mpi_object *object,
                           char **ret_path)
{
    BERTH_FREE char *path = NULL;
    BERTH_FREE char *real = NULL;

    if (!object->library.parts || !object->elf.soname)
        return false;
    if (asprintf(&path, "%s/%s", directory, object->elf.soname) < 0)
        return false;
    real = berth_resolve(path);
    if (!real || strcmp(real, object->path) != 0)
        return false;
    *ret_path = berth_steal(&path);
    return true;
}

static bool is_c_library(const struct berth_mpi_object *it)
{
    if (!(it->library.parts & BERTH_PART_C))
        return false;
    return berth_mpi_family_is_implementation(it->library.family);
}

/* Do IT and the C library C come from one install? They are in one directory. The
 * standard's libraries may be anybody's (alternatives). */
static bool goes_with(const struct berth_mpi_object *it,
                      const struct berth_mpi_object *c)
{
    if (it == c || is_c_library(it))
        return false;
    if (it->library.family != BERTH_FAMILY_ABI)
        return it->library.family == c->library.family;
    if (!it->library.vendor)
        return true;
    return c->library.vendor && strcmp(it->library.vendor, c->library.vendor) == 0;
}

/* Has the library PATH been found, for the profile GIVEN if there is one? Two profiles
 * with a prefix may be for one install. */
static bool is_known(const struct berth_stacks *stacks,
                     const struct berth_profile *given, const char *path)
{
    BERTH_FREE char *real = berth_resolve(path);

    if (!real)
        return false;
    for (size_t i = 0; i < stacks->count; i++) {
        const struct berth_stack *stack = &stacks->items[i];
        BERTH_FREE char *other = NULL;

        if (given && given != stack->profile)
            continue;
        other = berth_resolve(stack->libraries[0].path);
        if (other && strcmp(other, real) == 0)
            return true;
    }
    return false;
}

/* A copy of ORIGIN, or the text for a stack that its PROFILE names. NULL: no memory. */
static char *origin_of(const struct berth_profile *profile, const char *origin)
{
    char *text;

    if (origin)
        return strdup(origin);
    if (asprintf(&text, "profile '%s'", profile->name) < 0)
        return NULL;
    return text;
}

/* Set the LD_LIBRARY_PATH of the search in STACK. False: no memory. */
static bool copy_search(const struct search *s, struct berth_stack *stack)
{
    const char *path = berth_environ_value(s->env, "LD_LIBRARY_PATH");

    if (!path)
        return true;
    stack->search = strdup(path);
    return stack->search != NULL;
}

/* Add a stack without libraries of PROFILE. ORIGIN: what led to it; NULL: the profile.
 */
static struct berth_stack *push_stack(const struct search *s,
                                      const struct berth_profile *profile,
                                      const char *version, const char *origin)
{
    struct berth_stack stack = {.profile = profile, .version = strdup(version)};

    stack.origin = origin_of(profile, origin);
    if (stack.version && stack.origin && copy_search(s, &stack) &&
        berth_append(s->to, &stack) == 0)
        return &s->to->items[s->to->count - 1];
    berth_stack_fini(&stack);
    berth_err_oom(s->err);
    return NULL;
}

/* Add to STACK the library OBJECT, if the directory PATH has it under its SONAME. */
static int push_library(struct berth_stack *stack, const char *path,
                        const struct berth_mpi_object *object, struct berth_err *err)
{
    struct berth_stack_library library = {.family = object->library.family,
                                          .parts = object->library.parts,
                                          .soname = object->elf.soname};
    bool is_pushed;

    if (!find_by_soname(path, object, &library.path))
        return 0;
    is_pushed = berth_stack_push(stack, &library);
    free(library.path);
    return berth_err_oom_if(!is_pushed, err);
}

/* The profile of the C library C, the file FILE; NULL: none fits, or the loader cannot
 * load it. */
static const struct berth_profile *
find_profile(const struct search *s, const struct berth_mpi_object *c, const char *file)
{
    const struct berth_profile *profile = s->given;
    BERTH_CLOSURE struct berth_closure closure = {0};

    if (berth_loader_list(s->cache, s->loader, file, s->loader_env.items, &closure,
                          NULL) < 0)
        return NULL;
    if (!profile)
        profile = berth_profile_match(s->profiles, &c->library, &closure);
    if (!profile || profile->family != c->library.family)
        return NULL;
    return profile;
}

/* Add the stack of C, one of OBJECTS in the directory PATH, if it is a C library. */
static int add_stack(const struct search *s, const char *origin, const char *path,
                     const struct berth_mpi_objects *objects,
                     const struct berth_mpi_object *c)
{
    const struct berth_profile *profile;
    struct berth_stack *stack;
    BERTH_FREE char *file = NULL;
    char version[BERTH_MPI_NAME_SIZE];

    if (s->to->count == STACKS_MAX || !is_c_library(c))
        return 0;
    if (!find_by_soname(path, c, &file) || is_known(s->to, s->given, file))
        return 0;
    profile = find_profile(s, c, file);
    if (!profile)
        return 0;

    berth_mpi_library_name(&c->library, version, sizeof(version));
    if (s->given)
        origin = NULL; /* the profile has led to it */
    stack = push_stack(s, profile, version, origin);
    if (!stack || push_library(stack, path, c, s->err) < 0)
        return -1;
    for (size_t i = 0; i < objects->count; i++)
        if (goes_with(&objects->items[i], c) &&
            push_library(stack, path, &objects->items[i], s->err) < 0)
            return -1;
    return 0;
}

static int search_directory(const struct search *s, const char *origin,
                            const char *path)
{
    struct berth_mpi_objects objects = {0};
    int result = 0;

    read_directory(s->cache, path, &objects);
    for (size_t i = 0; result == 0 && i < objects.count; i++)
        result = add_stack(s, origin, path, &objects, &objects.items[i]);
    berth_mpi_objects_fini(&objects);
    return result;
}

/* Variables that name the top of an install. */
static const char *const roots[] = {"CRAY_MPICH_DIR", "I_MPI_ROOT", "MPICH_DIR",
                                    "MPI_HOME", "OPAL_PREFIX"};

/* Where the libraries are below the top. The one with MPICH's ABI is in a directory of
 * its own in Cray's (HPE, intro_mpi(3), module cray-mpich-abi); the native one has only
 * the ABI of Cray's compilers. I_MPI_LIBRARY_KIND has its own directory in older
 * releases of Intel's. */
static const char *const library_places[] = {"lib-abi-mpich",
                                             "lib",
                                             "lib64",
                                             "lib/release",
                                             "lib/release_mt",
                                             "intel64/lib",
                                             "intel64/lib/release"};

/* In the first of the places below ROOT in which there is something. */
static int search_below(const struct search *s, const char *origin, const char *root)
{
    const size_t count = sizeof(library_places) / sizeof(library_places[0]);
    size_t before = s->to->count;

    for (size_t i = 0; i < count && s->to->count == before; i++) {
        BERTH_FREE char *path = NULL;

        if (asprintf(&path, "%s/%s", root, library_places[i]) < 0)
            return berth_err_oom(s->err);
        if (search_directory(s, origin, path) < 0)
            return -1;
    }
    return 0;
}

/* Where a profile says that its install is. */
static int search_prefixes(const struct search *s)
{
    struct search one = *s;

    for (const struct berth_profile *it = s->profiles; it->name; it++) {
        if (it->kind != BERTH_PROFILE_MPI || !it->prefix)
            continue;
        one.given = it;
        if (search_below(&one, NULL, it->prefix) < 0)
            return -1;
    }
    return 0;
}

static int search_roots(const struct search *s)
{
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        const char *root = berth_environ_value(s->env, roots[i]);

        if (root && *root == '/' && search_below(s, roots[i], root) < 0)
            return -1;
    }
    return 0;
}

/* LD_LIBRARY_PATH and the cache. */
static int search_by_loader(const struct search *s)
{
    BERTH_STRVEC struct berth_strvec paths = {0};
    BERTH_STRVEC struct berth_strvec directories = {0};

    if (berth_loader_find(s->cache, s->loader, s->program, berth_mpi_loader_sonames,
                          s->loader_env.items, &paths, s->err) < 0)
        return -1;
    for (size_t i = 0; i < paths.count; i++) {
        *strrchr(paths.items[i], '/') = '\0';
        berth_strvec_push_once(&directories, paths.items[i]);
    }
    for (size_t i = 0; i < directories.count; i++)
        if (search_directory(s, "the loader", directories.items[i]) < 0)
            return -1;
    return directories.failed ? berth_err_oom(s->err) : 0;
}

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
    return berth_err_oom_if(ret->failed, err);
}

/* The same for each of SONAMES (NULL: none). */
static int find_all_below(const char *prefix, const char *const *places,
                          const char *const *sonames, struct berth_strvec *ret,
                          struct berth_err *err)
{
    if (!sonames)
        return 0;
    for (; *sonames; sonames++)
        if (find_below(prefix, places, *sonames, ret, err) < 0)
            return -1;
    return 0;
}

/* The libraries SONAMES (NULL: none) of PROFILE that are there, in any order. */
static int find_libraries(const struct search *s, const struct berth_profile *profile,
                          const char *const *sonames, struct berth_strvec *ret)
{
    static const char *const places[] = {"lib64", "lib", NULL};

    if (!sonames)
        return 0;
    if (!profile->prefix)
        return berth_loader_find(s->cache, s->loader, s->program, sonames,
                                 s->loader_env.items, ret, s->err);
    return find_all_below(profile->prefix, places, sonames, ret, s->err);
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
    if (profile->adds)
        return find_path(paths, profile->adds[0]);
    if (!berth_kind_of(profile)->is_partial)
        return find_path(paths, profile->replaces[0]);
    for (const char *const *it = profile->replaces; *it; it++) {
        const char *found = find_path(paths, *it);

        if (found)
            return found;
    }
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

static bool has_library(const struct berth_stack *stack, const char *soname)
{
    for (size_t i = 0; i < stack->count; i++)
        if (strcmp(stack->libraries[i].soname, soname) == 0)
            return true;
    return false;
}

/* Of libraries, what of `replaces` is there. False: no memory. */
static bool name_replaced(struct berth_stack *stack)
{
    const struct berth_profile *profile = stack->profile;

    if (!berth_kind_of(profile)->is_partial || !profile->replaces)
        return true;
    for (const char *const *it = profile->replaces; *it; it++)
        if (has_library(stack, *it))
            berth_strvec_push(&stack->sonames, *it);
    return !stack->sonames.failed;
}

static int add_named(const struct search *s, const struct berth_profile *profile,
                     const struct berth_strvec *paths)
{
    const char *first = find_first(profile, paths);
    BERTH_FREE char *real = berth_resolve(first);
    const char *origin = "the loader";
    struct berth_stack *stack;

    /* The name of the file behind links has the version. */
    if (real)
        first = real;
    if (profile->prefix || profile->nearby)
        origin = NULL; /* the profile has led to it */
    stack = push_stack(s, profile, berth_text_base(first), origin);
    if (!stack)
        return -1;
    if (push(profile->adds, paths, stack) && push(profile->replaces, paths, stack) &&
        name_replaced(stack))
        return 0;
    return berth_err_oom(s->err);
}

/* Is the library PATH what the profile is for? One of the same SONAME may be another.
 */
static bool is_meant(const struct search *s, const struct berth_profile *profile,
                     const char *path)
{
    BERTH_CLOSURE struct berth_closure closure = {0};

    if (!berth_kind_of(profile)->by_link)
        return true;
    if (berth_profile_is_needed(profile, berth_text_base(path)))
        return true;
    if (berth_loader_list(s->cache, s->loader, path, s->loader_env.items, &closure,
                          NULL) < 0)
        return false;
    return berth_profile_has_needed(profile, &closure);
}

/* Remove PATH, a string of PATHS, which are in no order. */
static void drop(struct berth_strvec *paths, const char *path)
{
    size_t at = 0;

    while (paths->items[at] != path)
        at++;
    free(paths->items[at]);
    paths->count--;
    paths->items[at] = paths->items[paths->count];
    paths->items[paths->count] = NULL;
}

/* Remove from PATHS the libraries that are others than the profile is for, and come
 * before those that are. Returns whether any is. */
static bool keep_meant(const struct search *s, const struct berth_profile *profile,
                       struct berth_strvec *paths)
{
    for (;;) {
        const char *first = find_first(profile, paths);

        if (!first)
            return false;
        if (is_meant(s, profile, first))
            return true;
        drop(paths, first);
    }
}

/* The libraries of PROFILE in PLACE, from the directory of the library FIRST. */
static int find_nearby(const struct berth_profile *profile, const char *first,
                       const char *place, struct berth_strvec *ret,
                       struct berth_err *err)
{
    const char *const places[] = {place, NULL};
    BERTH_FREE char *directory = NULL;

    if (*place == '/')
        directory = strdup("");
    else
        directory = strndup(first, (size_t)(strrchr(first, '/') - first));
    if (!directory)
        return berth_err_oom(err);
    if (find_all_below(directory, places, profile->adds, ret, err) < 0)
        return -1;
    return find_all_below(directory, places, profile->replaces, ret, err);
}

/* Search the places `nearby` of PROFILE, some of which are from the directory of the
 * library FIRST (NULL: the loader finds none). Returns 1 if a stack was added, 0 if
 * none of the places has one. */
static int search_nearby(const struct search *s, const struct berth_profile *profile,
                         const char *first)
{
    bool has_nearby = berth_kind_of(profile)->is_partial && !profile->prefix;

    if (!has_nearby || !profile->nearby)
        return 0;
    for (const char *const *place = profile->nearby; *place; place++) {
        BERTH_STRVEC struct berth_strvec found = {0};

        if (!first && **place != '/')
            continue;
        if (find_nearby(profile, first, *place, &found, s->err) < 0)
            return -1;
        if (!keep_meant(s, profile, &found))
            continue;
        if (add_named(s, profile, &found) < 0)
            return -1;
        return 1;
    }
    return 0;
}

/* What PROFILE, of no MPI, names: below a prefix, or where the loader finds it; of
 * libraries first in the places `nearby`. */
static int search_profile(const struct search *s, const struct berth_profile *profile)
{
    BERTH_STRVEC struct berth_strvec paths = {0};
    int found;

    if (find_libraries(s, profile, profile->adds, &paths) < 0 ||
        find_libraries(s, profile, profile->replaces, &paths) < 0)
        return -1;
    found = search_nearby(s, profile, find_first(profile, &paths));
    if (found < 0)
        return -1;
    if (found == 0 && keep_meant(s, profile, &paths))
        return add_named(s, profile, &paths);
    return 0;
}

static int search_named(const struct search *s)
{
    for (const struct berth_profile *it = s->profiles; it->name; it++)
        if (it->kind != BERTH_PROFILE_MPI && search_profile(s, it) < 0)
            return -1;
    return 0;
}

/* Set the loader of this host in S, and its environment. */
static int prepare_loader(struct search *s)
{
    const char *path = berth_environ_value(s->env, "LD_LIBRARY_PATH");

    berth_strvec_pushf(&s->loader_env, "LD_LIBRARY_PATH=%s", path ? path : "");
    if (s->loader_env.failed)
        return berth_err_oom(s->err);
    return berth_loader_self(&s->loader, &s->program, s->err);
}

static int search_all(const struct search *s, unsigned int kinds)
{
    const unsigned int mpi = 1U << BERTH_PROFILE_MPI;

    if (kinds & mpi &&
        (search_prefixes(s) < 0 || search_roots(s) < 0 || search_by_loader(s) < 0))
        return -1;
    if (kinds & ~mpi)
        return search_named(s);
    return 0;
}

int berth_stacks_find(struct berth_factcache *cache,
                      const struct berth_profile *profiles, unsigned int kinds,
                      char *const *env, struct berth_stacks *ret_stacks,
                      struct berth_err *err)
{
    struct berth_stacks stacks = {0};
    struct search s = {
        .profiles = profiles, .env = env, .cache = cache, .to = &stacks, .err = err};
    int result = prepare_loader(&s);

    if (result == 0)
        result = search_all(&s, kinds);
    if (result == 0)
        *ret_stacks = stacks;
    else
        berth_stacks_fini(&stacks);
    free(s.loader);
    free(s.program);
    berth_strvec_fini(&s.loader_env);
    return result;
}
