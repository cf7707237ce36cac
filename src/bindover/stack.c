/* SPDX-License-Identifier: Apache-2.0 */
/* Which MPI stacks this host has. Looks where the environment points and where the
 * loader looks; what a library is, it reads in the library. */

#include "bindover/stack.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

bool berth_stack_push(struct berth_stack *stack,
                      const struct berth_stack_library *library)
{
    struct berth_stack_library *more =
        realloc(stack->libraries, (stack->count + 1) * sizeof(*more));

    if (!more)
        return false;
    stack->libraries = more;
    more += stack->count++;
    *more = *library;
    more->soname = strdup(library->soname);
    more->path = strdup(library->path);
    return more->soname && more->path;
}

void berth_stack_fini(struct berth_stack *stack)
{
    free(stack->version);
    free(stack->origin);
    free(stack->search);
    for (size_t i = 0; i < stack->count; i++) {
        free(stack->libraries[i].soname);
        free(stack->libraries[i].path);
    }
    free(stack->libraries);
    berth_strvec_fini(&stack->sonames);
}

const char *const *berth_stack_replaces(const struct berth_stack *stack)
{
    static const char *const none[] = {NULL};

    if (stack->sonames.count)
        return (const char *const *)stack->sonames.items;
    if (stack->profile->kind == BERTH_PROFILE_LIBRARIES)
        return none; /* the host has only what the profile adds */
    return stack->profile->replaces ? stack->profile->replaces : none;
}

const char *berth_stack_first(const struct berth_stack *stack)
{
    return stack->count ? stack->libraries[0].soname
                        : berth_profile_first(stack->profile);
}

bool berth_stack_adds_libraries(const struct berth_stack *stack)
{
    return stack->profile->kind == BERTH_PROFILE_LIBRARIES && stack->profile->adds;
}

bool berth_stacks_push(struct berth_stacks *stacks, const struct berth_stack *stack)
{
    struct berth_stack *more =
        realloc(stacks->items, (stacks->count + 1) * sizeof(*more));

    if (!more)
        return false;
    stacks->items = more;
    more[stacks->count++] = *stack;
    return true;
}

/* The stack of the C library C of DIRECTORY. */
static int fill_stack(const struct search *s, const char *origin,
                      const struct directory *directory, const struct found *c,
                      struct berth_stack *ret)
{
    const char *path = berth_environ_value(s->env, "LD_LIBRARY_PATH");
    bool ok = berth_stack_push(ret, &c->library);
    char name[BERTH_MPI_NAME_SIZE];

    for (size_t i = 0; ok && i < directory->count; i++)
        if (goes_with(&directory->items[i], c))
            ok = berth_stack_push(ret, &directory->items[i].library);
    ret->origin = strdup(origin);
    ret->search = path ? strdup(path) : NULL;
    ret->version = strdup(berth_mpi_library_name(&c->what, name, sizeof(name)));
    return ok && ret->origin && ret->version && (!path || ret->search)
               ? 0
               : berth_err_oom(s->err);
}

static int add_stack(const struct search *s, const char *origin,
                     const struct directory *directory, const struct found *c)
{
    struct berth_stack stack = {0};
    struct berth_closure closure;

    if (s->to->count == STACKS_MAX || is_known(s->to, s->given, c->library.path))
        return 0;
    if (berth_loader_list(s->cache, s->loader, c->library.path, s->loader_env.items,
                          &closure, NULL) < 0)
        return 0;
    stack.profile =
        s->given ? s->given : berth_profile_match(s->profiles, &c->what, &closure);
    berth_closure_fini(&closure);
    if (!stack.profile || stack.profile->family != c->what.family)
        return 0;
    if (fill_stack(s, origin, directory, c, &stack) == 0 &&
        berth_stacks_push(s->to, &stack))
        return 0;
    berth_stack_fini(&stack);
    return berth_err_oom(s->err);
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

    for (one.given = s->profiles; one.given->name; one.given++) {
        BERTH_FREE char *origin = NULL;

        if (one.given->kind != BERTH_PROFILE_MPI || !one.given->prefix)
            continue;
        if (asprintf(&origin, "profile '%s'", one.given->name) < 0)
            return berth_err_oom(s->err);
        if (search_below(&one, origin, one.given->prefix, prefix_places,
                         PREFIX_PLACES) < 0)
            return -1;
    }
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

int berth_stacks_find(struct berth_factcache *cache,
                      const struct berth_profile *profiles, char *const *env,
                      struct berth_stacks *ret_stacks, struct berth_err *err)
{
    struct berth_stacks stacks = {0};
    struct search s = {
        .profiles = profiles, .env = env, .cache = cache, .to = &stacks, .err = err};
    const char *path = berth_environ_value(env, "LD_LIBRARY_PATH");
    int result;

    berth_strvec_pushf(&s.loader_env, "LD_LIBRARY_PATH=%s", path ? path : "");
    result = s.loader_env.failed ? berth_err_oom(err)
                                 : berth_loader_self(&s.loader, &s.program, err);
    if (result == 0)
        result = search_prefixes(&s);
    if (result == 0)
        result = search_roots(&s);
    if (result == 0)
        result = search_by_loader(&s);
    if (result == 0)
        *ret_stacks = stacks;
    else
        berth_stacks_fini(&stacks);
    free(s.loader);
    free(s.program);
    berth_strvec_fini(&s.loader_env);
    return result;
}

void berth_stacks_fini(struct berth_stacks *stacks)
{
    for (size_t i = 0; i < stacks->count; i++)
        berth_stack_fini(&stacks->items[i]);
    free(stacks->items);
    *stacks = (struct berth_stacks){0};
}
