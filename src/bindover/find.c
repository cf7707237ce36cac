/* SPDX-License-Identifier: Apache-2.0 */
/* Which MPI stacks this host has, which libraries of a network for an image's own MPI,
 * and which others for the place of an image's. Looks where the environment and
 * profiles point and where the loader looks; what a library is, it reads in the
 * library. */

#include "bindover/stack.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/resolve.h"
#include "base/text.h"
#include "mpi/family.h"
#include "bindover/inventory.h"
#include "bindover/loader.h"
#include "bindover/scan.h"

enum { STACKS_MAX = 64, LIBRARIES_MAX = 64, PLACES_MAX = 8 };

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

/* A library of MPI in a directory. */
struct found {
    struct berth_stack_library library;
    struct berth_mpi_library what;
    dev_t device; /* of the file, */
    ino_t inode;
};

struct directory {
    struct found items[LIBRARIES_MAX];
    size_t count;
};

/* Is PATH a library of MPI under its own SONAME, NAME? Then it is *RET_FOUND. */
static bool classify(struct berth_factcache *cache, const char *path, const char *name,
                     struct found *ret_found)
{
    BERTH_FREE char *real = berth_resolve(path);
    struct found found = {0};
    struct berth_elf elf;
    bool is_own;

    if (!real || berth_scan_elf(cache, real, &elf, NULL) < 0)
        return false;
    berth_mpi_classify(&elf, berth_text_base(real), &found.what);
    is_own = elf.soname && strcmp(elf.soname, name) == 0;
    berth_elf_fini(&elf);
    if (!is_own || !found.what.parts)
        return false;
    found.library = (struct berth_stack_library){.family = found.what.family,
                                                 .parts = found.what.parts,
                                                 .soname = strdup(name),
                                                 .path = strdup(path)};
    *ret_found = found;
    return found.library.soname && found.library.path;
}

static void close_directory(struct directory *directory)
{
    for (size_t i = 0; i < directory->count; i++) {
        free(directory->items[i].library.soname);
        free(directory->items[i].library.path);
    }
}

static int is_named(const struct dirent *entry)
{
    return berth_inventory_is_named(entry->d_name);
}

/* Was FILE found before, under its own SONAME? */
static bool is_found(const struct directory *directory, const struct stat *file)
{
    for (size_t i = 0; i < directory->count; i++)
        if (directory->items[i].device == file->st_dev &&
            directory->items[i].inode == file->st_ino)
            return true;
    return false;
}

/* Add the library NAME of the directory PATH, if it is an MPI library. Reading it takes
 * time. */
static void add_library(struct berth_factcache *cache, struct directory *directory,
                        const char *path, const char *name)
{
    struct found *found = &directory->items[directory->count];
    BERTH_FREE char *file = NULL;
    struct stat st;

    if (directory->count == LIBRARIES_MAX || asprintf(&file, "%s/%s", path, name) < 0 ||
        stat(file, &st) < 0 || is_found(directory, &st) ||
        !classify(cache, file, name, found))
        return;
    found->device = st.st_dev;
    found->inode = st.st_ino;
    directory->count++;
}

/* The libraries of MPI in the directory PATH; none where there is no directory. */
static void read_directory(struct berth_factcache *cache, const char *path,
                           struct directory *ret)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, is_named, alphasort);

    ret->count = 0;
    for (int i = 0; i < count; i++) {
        add_library(cache, ret, path, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

static bool is_c_library(const struct found *it)
{
    return (it->what.parts & BERTH_PART_C) && (it->what.family == BERTH_FAMILY_MPICH ||
                                               it->what.family == BERTH_FAMILY_OPENMPI);
}

/* Do IT and the C library C come from one install? They are in one directory. The
 * standard's libraries may be anybody's (alternatives). */
static bool goes_with(const struct found *it, const struct found *c)
{
    if (it == c || is_c_library(it))
        return false;
    if (it->what.family != BERTH_FAMILY_ABI)
        return it->what.family == c->what.family;
    return it->what.vendor
               ? c->what.vendor && strcmp(it->what.vendor, c->what.vendor) == 0
               : true;
}

/* Has the library PATH been found, for the profile GIVEN if there is one? Two profiles
 * with a prefix may be for one install. */
static bool is_known(const struct berth_stacks *stacks,
                     const struct berth_profile *given, const char *path)
{
    BERTH_FREE char *real = berth_resolve(path);

    for (size_t i = 0; real && i < stacks->count; i++) {
        BERTH_FREE char *other = berth_resolve(stacks->items[i].libraries[0].path);

        if ((!given || given == stacks->items[i].profile) && other &&
            strcmp(other, real) == 0)
            return true;
    }
    return false;
}

/* Add a stack without libraries of PROFILE. ORIGIN: what led to it; NULL: the profile.
 */
static struct berth_stack *push_stack(const struct search *s,
                                      const struct berth_profile *profile,
                                      const char *version, const char *origin)
{
    const char *path = berth_environ_value(s->env, "LD_LIBRARY_PATH");
    struct berth_stack stack = {.profile = profile,
                                .version = strdup(version),
                                .search = path ? strdup(path) : NULL};

    if (origin)
        stack.origin = strdup(origin);
    else if (asprintf(&stack.origin, "profile '%s'", profile->name) < 0)
        stack.origin = NULL;
    if (stack.version && stack.origin && (!path || stack.search) &&
        berth_stacks_push(s->to, &stack))
        return &s->to->items[s->to->count - 1];
    berth_stack_fini(&stack);
    berth_err_oom(s->err);
    return NULL;
}

/* Add the stack of the C library C of DIRECTORY. */
static int add_stack(const struct search *s, const char *origin,
                     const struct directory *directory, const struct found *c)
{
    const struct berth_profile *profile = s->given;
    struct berth_closure closure;
    struct berth_stack *stack;
    char name[BERTH_MPI_NAME_SIZE];

    if (s->to->count == STACKS_MAX || is_known(s->to, s->given, c->library.path))
        return 0;
    if (berth_loader_list(s->cache, s->loader, c->library.path, s->loader_env.items,
                          &closure, NULL) < 0)
        return 0;
    if (!profile)
        profile = berth_profile_match(s->profiles, &c->what, &closure);
    berth_closure_fini(&closure);
    if (!profile || profile->family != c->what.family)
        return 0;
    stack = push_stack(s, profile, berth_mpi_library_name(&c->what, name, sizeof(name)),
                       s->given ? NULL : origin);
    if (!stack)
        return -1;
    if (!berth_stack_push(stack, &c->library))
        return berth_err_oom(s->err);
    for (size_t i = 0; i < directory->count; i++)
        if (goes_with(&directory->items[i], c) &&
            !berth_stack_push(stack, &directory->items[i].library))
            return berth_err_oom(s->err);
    return 0;
}

static int search_directory(const struct search *s, const char *origin,
                            const char *path)
{
    struct directory directory;
    int result = 0;

    read_directory(s->cache, path, &directory);
    for (size_t i = 0; result == 0 && i < directory.count; i++)
        if (is_c_library(&directory.items[i]))
            result = add_stack(s, origin, &directory, &directory.items[i]);
    close_directory(&directory);
    return result;
}

/* Where the libraries are below what a variable names. */
static const struct {
    const char *variable;
    const char *places[PLACES_MAX];
} roots[] = {
    /* The library with MPICH's ABI is in a directory of its own (HPE, intro_mpi(3),
     * module cray-mpich-abi); the native one has only the ABI of Cray's compilers. */
    {"CRAY_MPICH_DIR", {"lib-abi-mpich", "lib"}},
    /* I_MPI_LIBRARY_KIND has its own directory in older releases. */
    {"I_MPI_ROOT",
     {"lib", "lib/release", "lib/release_mt", "intel64/lib", "intel64/lib/release"}},
    {"MPICH_DIR", {"lib", "lib64"}},
    {"MPI_HOME", {"lib", "lib64"}},
    {"OPAL_PREFIX", {"lib", "lib64"}},
};

/* The same below a directory that a profile names; its vendor is not known. */
static const char *const prefix_places[] = {
    "lib-abi-mpich",       "lib",         "lib64", "lib/release",
    "intel64/lib/release", "intel64/lib",
};

enum { PREFIX_PLACES = sizeof(prefix_places) / sizeof(prefix_places[0]) };

/* In the first of the COUNT PLACES below ROOT in which there is something. */
static int search_below(const struct search *s, const char *origin, const char *root,
                        const char *const *places, size_t count)
{
    size_t before = s->to->count;

    for (size_t i = 0; i < count && places[i] && s->to->count == before; i++) {
        BERTH_FREE char *path = NULL;

        if (asprintf(&path, "%s/%s", root, places[i]) < 0)
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

    for (one.given = s->profiles; one.given->name; one.given++)
        if (one.given->kind == BERTH_PROFILE_MPI && one.given->prefix &&
            search_below(&one, NULL, one.given->prefix, prefix_places, PREFIX_PLACES) <
                0)
            return -1;
    return 0;
}

static int search_roots(const struct search *s)
{
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        const char *root = berth_environ_value(s->env, roots[i].variable);

        if (root && *root == '/' &&
            search_below(s, roots[i].variable, root, roots[i].places, PLACES_MAX) < 0)
            return -1;
    }
    return 0;
}

/* Is the directory AT of PATHS one that stands before it? */
static bool is_repeated(const struct berth_strvec *paths, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(paths->items[i], paths->items[at]) == 0)
            return true;
    return false;
}

/* LD_LIBRARY_PATH and the cache. */
static int search_by_loader(const struct search *s)
{
    static const char *const names[] = {"libmpi.so.12", "libmpich.so.12",
                                        "libmpi.so.40", NULL};
    BERTH_STRVEC struct berth_strvec paths = {0};

    if (berth_loader_find(s->cache, s->loader, s->program, names, s->loader_env.items,
                          &paths, s->err) < 0)
        return -1;
    for (size_t i = 0; i < paths.count; i++) {
        *strrchr(paths.items[i], '/') = '\0';
        if (!is_repeated(&paths, i) &&
            search_directory(s, "the loader", paths.items[i]) < 0)
            return -1;
    }
    return 0;
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
    return ret->failed ? berth_err_oom(err) : 0;
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
    for (; *sonames; sonames++)
        if (find_below(profile->prefix, places, *sonames, ret, s->err) < 0)
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

static int add_named(const struct search *s, const struct berth_profile *profile,
                     const struct berth_strvec *paths)
{
    const char *first = find_first(profile, paths);
    BERTH_FREE char *real = berth_resolve(first);
    struct berth_stack *stack =
        push_stack(s, profile, berth_text_base(real ? real : first),
                   profile->prefix || profile->nearby ? NULL : "the loader");

    if (!stack)
        return -1;
    return push(profile->adds, paths, stack) && push(profile->replaces, paths, stack) &&
                   name_replaced(stack)
               ? 0
               : berth_err_oom(s->err);
}

/* Is the library PATH what the profile is for? One of the same SONAME may be another.
 */
static bool is_meant(const struct search *s, const struct berth_profile *profile,
                     const char *path)
{
    struct berth_closure closure;
    bool found;

    if (profile->kind != BERTH_PROFILE_LIBRARIES ||
        berth_profile_is_needed(profile, berth_text_base(path)))
        return true;
    if (berth_loader_list(s->cache, s->loader, path, s->loader_env.items, &closure,
                          NULL) < 0)
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
static bool keep_meant(const struct search *s, const struct berth_profile *profile,
                       struct berth_strvec *paths)
{
    const char *first;

    while ((first = find_first(profile, paths))) {
        if (is_meant(s, profile, first))
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
static int look_nearby(const struct search *s, const struct berth_profile *profile,
                       struct berth_strvec *paths)
{
    const char *const *place = profile->nearby;
    BERTH_STRVEC struct berth_strvec found = {0};
    const char *first = find_first(profile, paths);

    if (profile->kind != BERTH_PROFILE_LIBRARIES || profile->prefix)
        return 0;
    for (; place && *place; place++) {
        if (!first && **place != '/')
            continue;
        if (look_beside(profile, first, *place, &found, s->err) < 0)
            return -1;
        if (!keep_meant(s, profile, &found))
            continue;
        berth_strvec_fini(paths);
        *paths = found;
        found = (struct berth_strvec){0};
        return 0;
    }
    return 0;
}

/* What the profiles of no MPI name: below a prefix, or where the loader finds it. */
static int search_named(const struct search *s)
{
    for (const struct berth_profile *it = s->profiles; it->name; it++) {
        BERTH_STRVEC struct berth_strvec paths = {0};

        if (it->kind == BERTH_PROFILE_MPI)
            continue;
        if (find_libraries(s, it, it->adds, &paths) < 0 ||
            find_libraries(s, it, it->replaces, &paths) < 0 ||
            look_nearby(s, it, &paths) < 0)
            return -1;
        if (keep_meant(s, it, &paths) && add_named(s, it, &paths) < 0)
            return -1;
    }
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
    const char *path = berth_environ_value(env, "LD_LIBRARY_PATH");
    int result;

    berth_strvec_pushf(&s.loader_env, "LD_LIBRARY_PATH=%s", path ? path : "");
    result = s.loader_env.failed ? berth_err_oom(err)
                                 : berth_loader_self(&s.loader, &s.program, err);
    if (result == 0 && kinds & 1U << BERTH_PROFILE_MPI &&
        (search_prefixes(&s) < 0 || search_roots(&s) < 0 || search_by_loader(&s) < 0))
        result = -1;
    if (result == 0 && kinds & ~(1U << BERTH_PROFILE_MPI))
        result = search_named(&s);
    if (result == 0)
        *ret_stacks = stacks;
    else
        berth_stacks_fini(&stacks);
    free(s.loader);
    free(s.program);
    berth_strvec_fini(&s.loader_env);
    return result;
}
