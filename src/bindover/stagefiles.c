/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of the host that make up a stack: those that the loader lists, and
 * those that libraries open by the tables of mpi/profile.h. */

#include "bindover/stagefiles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text.h"
#include "bindover/loader.h"
#include "bindover/manifest.h"
#include "bindover/scan.h"
#include "bindover/siblings.h"
#include "request/path.h"

enum { FILES_MAX = 4096, DEPTH_MAX = 8 };

struct gathering {
    const struct berth_stack *stack;
    struct berth_gathered *to;
    struct berth_strvec env; /* for the loader */
    char *loader;
    char *program;
    struct berth_err *err;
};

static const struct berth_gathered_file *find_file(const struct berth_gathered *to,
                                                   const char *file)
{
    for (size_t i = 0; i < to->count; i++)
        if (strcmp(to->files[i].file, file) == 0)
            return &to->files[i];
    return NULL;
}

static const struct berth_gathered_file *find_source(const struct berth_gathered *to,
                                                     const struct stat *st)
{
    for (size_t i = 0; i < to->count; i++) {
        const struct stat *other = &to->files[i].st;

        if (other->st_ino == st->st_ino && other->st_dev == st->st_dev)
            return &to->files[i];
    }
    return NULL;
}

/* Does the stage have FILE, or a link of that name? */
static bool has_name(const struct berth_gathered *to, const char *file)
{
    return find_file(to, file) || berth_strvec_pair(&to->links, file);
}

/* Adds the link FILE to TARGET, both from the top of the stage. */
static void link_to(struct berth_gathered *to, const char *file, const char *target)
{
    BERTH_BUF struct berth_buf path = {0};
    size_t common = 0; /* letters of the directory in which both are */

    if (has_name(to, file))
        return;
    for (size_t i = 0; file[i] == target[i] && file[i]; i++)
        if (file[i] == '/')
            common = i + 1;

    for (const char *at = file + common; *at; at++)
        if (*at == '/')
            berth_buf_puts(&path, "../");
    berth_buf_puts(&path, target + common);
    if (path.failed)
        to->links.failed = true;
    else
        berth_strvec_push_pair(&to->links, file, path.text);
}

/* Adds the file SOURCE, of which ST is the state, as FILE, which is then NULL. */
static int add_new(struct gathering *g, const char *source, const struct stat *st,
                   char **file, const struct berth_gathered_file *kind)
{
    struct berth_gathered *to = g->to;
    struct berth_gathered_file *more;

    if (to->count == FILES_MAX)
        return berth_err_set(g->err, "'%s': it consists of more than %d files",
                             g->stack->libraries[0].path, FILES_MAX);
    if (berth_grow(&to->files, to->count, &to->room, sizeof(*more)) < 0)
        return berth_err_oom(g->err);
    more = &to->files[to->count];
    to->count++;
    *more = *kind;
    more->source = strdup(source);
    more->st = *st;
    more->file = berth_steal(file);
    if (!more->source)
        return berth_err_oom(g->err);
    return 0;
}

/* Adds the file SOURCE as INTO/NAME. If it was added under another name, adds a link,
 * so that it stays one file for the loader. */
static int add(struct gathering *g, const char *source, const char *into,
               const char *name, const struct berth_gathered_file *kind)
{
    struct berth_gathered *to = g->to;
    const struct berth_gathered_file *same;
    BERTH_FREE char *file = NULL;
    struct stat st;

    if (asprintf(&file, "%s/%s", into, name) < 0)
        return berth_err_oom(g->err);
    if (has_name(to, file))
        return 0;
    if (stat(source, &st) < 0)
        return berth_err_file(g->err, source, "read");

    same = find_source(to, &st);
    if (!same)
        return add_new(g, source, &st, &file, kind);
    link_to(to, file, same->file);
    if (to->links.failed)
        return berth_err_oom(g->err);
    return 0;
}

/* Notes that PATH was searched, or does not exist: a change there changes the stack. */
static void remember_place(struct gathering *g, const char *path)
{
    struct stat st;

    if (berth_strvec_pair(&g->to->seen, path))
        return;
    if (stat(path, &st) == 0)
        berth_manifest_add_source(&g->to->seen, path, &st);
    else
        berth_manifest_add_source(&g->to->seen, path, NULL);
}

static const struct berth_gathered_file library = {.patched = true};

/* The first library that CLOSURE lacks; NULL: none. */
static const char *find_missing(const struct berth_closure *closure)
{
    for (size_t i = 0; i < closure->count; i++)
        if (!closure->items[i].path &&
            !berth_profile_is_driver(closure->items[i].soname))
            return closure->items[i].soname;
    return NULL;
}

static bool is_ours(const struct berth_closure_item *item)
{
    return item->path && !berth_profile_is_glibc(item->soname) &&
           !berth_profile_is_driver(item->soname);
}

/* Adds the libraries in CLOSURE. */
static int add_closure(struct gathering *g, const struct berth_closure *closure)
{
    for (size_t i = 0; i < closure->count; i++) {
        const struct berth_closure_item *item = &closure->items[i];

        if (is_ours(item) && add(g, item->path, "lib", item->soname, &library) < 0)
            return -1;
    }
    return 0;
}

/* Adds the library or plugin PATH as INTO/NAME, and the libraries that it needs. If it
 * lacks one, a library of MPI is an error, and any other file is left out. */
static int add_library(struct gathering *g, const char *path, const char *into,
                       const char *name, const struct berth_stack_library *mpi)
{
    const struct berth_gathered_file kind = {.patched = true, .mpi = mpi};
    BERTH_CLOSURE struct berth_closure closure = {0};
    const char *lacking;
    struct stat st;

    /* It was added before, with all that it needs. */
    if (stat(path, &st) == 0 && find_source(g->to, &st))
        return add(g, path, into, name, &kind);
    if (berth_loader_list(NULL, g->loader, path, g->env.items, &closure, g->err) < 0) {
        if (mpi)
            return -1;
        return 0;
    }
    lacking = find_missing(&closure);
    if (lacking && mpi)
        return berth_err_set(g->err,
                             "'%s': needs '%s', which this host does not find; load "
                             "its module, or set LD_LIBRARY_PATH",
                             path, lacking);
    if (lacking)
        return 0;
    if (add(g, path, into, name, &kind) < 0)
        return -1;
    return add_closure(g, &closure);
}

/* Adds the plugins in the directory PATH. Returns how many names match; -1 with a
 * sentence. */
static int add_plugins(struct gathering *g, const struct berth_opener *opener,
                       const char *path)
{
    glob_t found = {0};
    int count = 0;

    remember_place(g, path);
    berth_scan_glob(path, opener->pattern, &found);
    for (size_t i = 0; i < found.gl_pathc && count >= 0; i++) {
        const char *file = found.gl_pathv[i];
        const char *name = berth_text_base(file);

        if (berth_text_matches_any(name, opener->skip))
            continue;
        count++;
        if (add_library(g, file, opener->into, name, NULL) < 0)
            count = -1;
    }
    globfree(&found);
    return count;
}

/* Adds the plugins that OPENER finds from SOURCE, by its path as found and without
 * links.
 */
static int open_beside(struct gathering *g, const struct berth_opener *opener,
                       const char *source)
{
    BERTH_FREE char *real = realpath(source, NULL);
    const char *const from[] = {source, real, NULL};

    for (size_t i = 0; from[i]; i++)
        for (const char *const *place = opener->places; *place; place++) {
            BERTH_FREE char *path = berth_path_beside(from[i], *place);
            int found;

            if (!path)
                return berth_err_oom(g->err);
            found = add_plugins(g, opener, path);
            if (found != 0)
                return found;
        }
    return 0;
}

/* Is FILE the library of that NAME without version? */
static bool is_library(const struct berth_gathered_file *file, const char *name)
{
    return file->patched && berth_profile_is(berth_text_base(file->file), name);
}

/* Adds the plugins of all files, which may bring libraries that open plugins. */
static int follow_openers(struct gathering *g)
{
    for (size_t i = 0; i < g->to->count; i++)
        for (const struct berth_opener *it = berth_openers; it->library; it++) {
            /* The files move when one is added. */
            const struct berth_gathered_file *file = &g->to->files[i];

            if (is_library(file, it->library) && open_beside(g, it, file->source) < 0)
                return -1;
        }
    return 0;
}

/* Adds the directories that a profile names: of each the first place that has
 * libraries.
 */
static int add_profile_plugins(struct gathering *g)
{
    const struct berth_data *it = g->stack->profile->plugins;

    for (; it && it->into; it++) {
        const struct berth_opener opener = {
            .places = it->places, .pattern = "*.so*", .into = it->into};

        if (open_beside(g, &opener, g->stack->libraries[0].path) < 0)
            return -1;
    }
    return 0;
}

/* Adds NAME from the install of the C library. Returns 1 if it is there. */
static int add_nearby(struct gathering *g, const char *name)
{
    const char *const *places = g->stack->profile->nearby;

    for (; places && *places; places++) {
        BERTH_FREE char *directory =
            berth_path_beside(g->stack->libraries[0].path, *places);
        BERTH_FREE char *path = NULL;
        struct stat st;

        if (!directory || asprintf(&path, "%s/%s", directory, name) < 0)
            return berth_err_oom(g->err);
        if (stat(path, &st) < 0) {
            remember_place(g, path);
            continue;
        }
        if (add_library(g, path, "lib", name, NULL) < 0)
            return -1;
        return 1;
    }
    return 0;
}

/* Adds the libraries that the stack opens by name. */
static int add_names(struct gathering *g)
{
    const char *const *names = g->stack->profile->names;
    BERTH_STRVEC struct berth_strvec paths = {0};

    if (!names)
        return 0;
    for (const char *const *name = names; *name; name++)
        if (add_nearby(g, *name) < 0)
            return -1;
    if (berth_loader_find(NULL, g->loader, g->program, names, g->env.items, &paths,
                          g->err) < 0)
        return -1;
    /* A name that was added before stays as it is. */
    for (size_t i = 0; i < paths.count; i++)
        if (add_library(g, paths.items[i], "lib", berth_text_base(paths.items[i]),
                        NULL) < 0)
            return -1;
    return 0;
}

static const struct berth_gathered_file plain = {0};

/* Adds the file PATH, as INTO. */
static int add_file(struct gathering *g, const char *path, const char *into)
{
    BERTH_FREE char *directory = strndup(into, (size_t)(strrchr(into, '/') - into));

    if (!directory)
        return berth_err_oom(g->err);
    return add(g, path, directory, berth_text_base(into), &plain);
}

/* Adds the file or directory PATH, as INTO. */
static int add_tree(struct gathering *g, const char *path, const char *into, int depth)
{
    glob_t found = {0};
    struct stat st;
    int result = 0;

    if (stat(path, &st) < 0 || depth == DEPTH_MAX)
        return 0;
    if (S_ISREG(st.st_mode))
        return add_file(g, path, into);
    if (!S_ISDIR(st.st_mode))
        return 0;
    remember_place(g, path);
    berth_scan_glob(path, "*", &found);
    for (size_t i = 0; i < found.gl_pathc && result == 0; i++) {
        BERTH_FREE char *to = NULL;

        if (asprintf(&to, "%s/%s", into, berth_text_base(found.gl_pathv[i])) < 0)
            result = berth_err_oom(g->err);
        else
            result = add_tree(g, found.gl_pathv[i], to, depth + 1);
    }
    globfree(&found);
    return result;
}

/* Adds DATA from the first of its places that exists, starting at LIBRARY_PATH. */
static int add_datum(struct gathering *g, const char *library_path,
                     const struct berth_data *data)
{
    BERTH_FREE char *real = realpath(library_path, NULL);
    bool is_usr = real && berth_text_starts(real, "/usr/");

    for (const char *const *place = data->places; *place; place++) {
        BERTH_FREE char *path = berth_path_beside(library_path, *place);

        if (!path)
            return berth_err_oom(g->err);
        if (**place == '/' && !is_usr)
            continue;
        if (access(path, R_OK) == 0)
            return add_tree(g, path, data->into, 0);
        remember_place(g, path);
    }
    return 0;
}

static int add_data(struct gathering *g)
{
    for (const struct berth_data *it = g->stack->profile->data; it && it->into; it++)
        if (add_datum(g, g->stack->libraries[0].path, it) < 0)
            return -1;
    return 0;
}

/* Adds the site's configuration of the libraries beside MPI. */
static int add_configs(struct gathering *g)
{
    for (size_t i = 0; i < g->to->count; i++)
        for (const struct berth_config *it = berth_configs; it->library; it++) {
            const struct berth_gathered_file *file = &g->to->files[i];
            BERTH_FREE char *source = NULL;

            if (!is_library(file, it->library))
                continue;
            source = strdup(file->source); /* the files move when one is added */
            if (!source)
                return berth_err_oom(g->err);
            if (add_datum(g, source, &it->data) < 0)
                return -1;
        }
    return 0;
}

/* Adds the files of glibc beside LIBC that exist. */
static int add_glibc_beside(struct gathering *g, const char *libc)
{
    for (const char *const *name = berth_profile_glibc; *name; name++) {
        BERTH_FREE char *path = berth_path_beside(libc, *name);

        if (!path)
            return berth_err_oom(g->err);
        if (access(path, R_OK) < 0)
            continue;
        if (add(g, path, "glibc", *name, &plain) < 0)
            return -1;
    }
    return 0;
}

/* Adds all of glibc, from the directory of the libc.so.6 that the C library of MPI
 * gets. */
static int add_glibc(struct gathering *g)
{
    const char *c_library = g->stack->libraries[0].path;
    const struct berth_closure_item *libc;
    BERTH_CLOSURE struct berth_closure closure = {0};

    if (berth_loader_list(NULL, g->loader, c_library, g->env.items, &closure, g->err) <
        0)
        return -1;
    libc = berth_closure_find(&closure, "libc.so.6");
    if (!libc || !libc->path) {
        errno = ENOENT;
        return berth_err_file(g->err, "libc.so.6", "read");
    }
    if (add(g, g->loader, "glibc", berth_text_base(g->loader), &plain) < 0)
        return -1;
    return add_glibc_beside(g, libc->path);
}

/* Adds the link INTO/NAME to TARGET. */
static int add_alias(struct gathering *g, const char *into, const char *name,
                     const char *target)
{
    BERTH_FREE char *file = NULL;

    if (asprintf(&file, "%s/%s", into, name) < 0)
        return berth_err_oom(g->err);
    link_to(g->to, file, target);
    if (g->to->links.failed)
        return berth_err_oom(g->err);
    return 0;
}

/* Is lib/NAME a file or a link that does not lead to TARGET? */
static bool is_taken(const struct berth_gathered *to, const char *name,
                     const char *target)
{
    BERTH_FREE char *file = NULL;
    const char *other;

    if (asprintf(&file, "lib/%s", name) < 0 || find_file(to, file))
        return true;
    other = berth_strvec_pair(&to->links, file);
    return other && strcmp(other, target) != 0;
}

/* Is NAME a SONAME that other systems give to the library SONAME of MPI, and free? */
static bool is_other_soname(const struct gathering *g, const char *name,
                            const char *soname)
{
    bool has_version = strstr(name, ".so.") != NULL;

    if (!has_version || strcmp(name, soname) == 0)
        return false;
    return !is_taken(g->to, name, soname);
}

/* Adds the links to FILE, a library of MPI. The library must have the SONAMEs of other
 * systems however it is loaded (bindover/build.c), so their links are beside it, too.
 */
static int add_aliases_of(struct gathering *g, struct berth_gathered_file *file)
{
    BERTH_STRVEC struct berth_strvec names = {0};

    berth_profile_aliases(file->mpi->soname, &names);
    for (size_t i = 0; i < names.count; i++) {
        const char *name = names.items[i];

        if (add_alias(g, "mpi", name, file->file) < 0)
            return -1;
        if (!is_other_soname(g, name, file->mpi->soname))
            continue;
        if (add_alias(g, "lib", name, file->file) < 0)
            return -1;
        berth_strvec_push(&file->needs, name);
    }
    if (names.failed || file->needs.failed)
        return berth_err_oom(g->err);
    return 0;
}

/* Adds links to the libraries of MPI under all names that programs use, in mpi/. */
static int add_aliases(struct gathering *g)
{
    for (size_t i = 0; i < g->to->count; i++) {
        struct berth_gathered_file *file = &g->to->files[i];

        if (file->mpi && add_aliases_of(g, file) < 0)
            return -1;
    }
    return 0;
}

/* Adds the libraries of the stack with all that they are linked with. */
static int add_libraries(struct gathering *g)
{
    for (size_t i = 0; i < g->stack->count; i++) {
        const struct berth_stack_library *it = &g->stack->libraries[i];

        if (add_library(g, it->path, "lib", it->soname, it) < 0)
            return -1;
    }
    return 0;
}

static int add_sisters(struct gathering *g)
{
    return berth_sisters_add(g->to, g->err);
}

static int gather_all(struct gathering *g)
{
    /* In this order: plugins are those of all libraries, and files of a configuration
     * those of all libraries and plugins. */
    static int (*const steps[])(struct gathering *) = {
        add_libraries, add_names, add_profile_plugins, follow_openers, add_data,
        add_configs,   add_glibc, add_aliases,         add_sisters,
    };

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (steps[i](g) < 0)
            return -1;
    if (g->to->seen.failed)
        return berth_err_oom(g->err);
    return 0;
}

/* Sets the loader of this host, and its environment for the stack. */
static int prepare_loader(struct gathering *g)
{
    const char *search = g->stack->search;

    berth_strvec_pushf(&g->env, "LD_LIBRARY_PATH=%s", search ? search : "");
    if (g->env.failed)
        return berth_err_oom(g->err);
    return berth_loader_self(&g->loader, &g->program, g->err);
}

int berth_stagefiles_gather(const struct berth_stack *stack,
                            struct berth_gathered *ret_gathered, struct berth_err *err)
{
    struct berth_gathered gathered = {0};
    struct gathering g = {.stack = stack, .to = &gathered, .err = err};
    int result = prepare_loader(&g);

    if (result == 0)
        result = gather_all(&g);
    if (result == 0)
        *ret_gathered = gathered;
    else
        berth_gathered_fini(&gathered);
    free(g.loader);
    free(g.program);
    berth_strvec_fini(&g.env);
    return result;
}

void berth_gathered_fini(struct berth_gathered *gathered)
{
    for (size_t i = 0; i < gathered->count; i++) {
        free(gathered->files[i].source);
        free(gathered->files[i].file);
        berth_strvec_fini(&gathered->files[i].needs);
    }
    free(gathered->files);
    berth_strvec_fini(&gathered->links);
    berth_strvec_fini(&gathered->seen);
    *gathered = (struct berth_gathered){0};
}
