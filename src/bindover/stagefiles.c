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
    for (size_t i = 0; i < to->count; i++)
        if (to->files[i].st.st_ino == st->st_ino &&
            to->files[i].st.st_dev == st->st_dev)
            return &to->files[i];
    return NULL;
}

/* Adds the link FILE to TARGET, both from the top of the stage. */
static void link_to(struct berth_gathered *to, const char *file, const char *target)
{
    BERTH_BUF struct berth_buf path = {0};
    const char *below = file;

    if (find_file(to, file) || berth_strvec_pair(&to->links, file))
        return;
    berth_strvec_push(&to->links, file);
    /* From the directory in which both are. */
    for (size_t i = 0; file[i] == target[i] && file[i]; i++)
        if (file[i] == '/')
            below = file + i + 1;
    for (const char *at = strchr(below, '/'); at; at = strchr(at + 1, '/'))
        berth_buf_puts(&path, "../");
    berth_buf_puts(&path, target + (below - file));
    to->links.failed |= path.failed;
    berth_strvec_push(&to->links, path.text ? path.text : "");
}

/* Adds the file SOURCE as INTO/NAME. If it was added under another name, adds a link,
 * so that it stays one file for the loader. */
static int add(struct gathering *g, const char *source, const char *into,
               const char *name, const struct berth_gathered_file *kind)
{
    struct berth_gathered *to = g->to;
    const struct berth_gathered_file *same;
    struct berth_gathered_file *more;
    BERTH_FREE char *file = NULL;
    struct stat st;

    if (asprintf(&file, "%s/%s", into, name) < 0)
        return berth_err_oom(g->err);
    if (find_file(to, file) || berth_strvec_pair(&to->links, file))
        return 0;
    if (stat(source, &st) < 0)
        return berth_err_file(g->err, source, "read");
    same = find_source(to, &st);
    if (same) {
        link_to(to, file, same->file);
        return to->links.failed ? berth_err_oom(g->err) : 0;
    }
    if (to->count == FILES_MAX)
        return berth_err_set(g->err, "'%s': it consists of more than %d files",
                             g->stack->libraries[0].path, FILES_MAX);
    if (berth_grow(&to->files, to->count, &to->room, sizeof(*more)) < 0)
        return berth_err_oom(g->err);
    more = &to->files[to->count++];
    *more = *kind;
    more->source = strdup(source);
    more->st = st;
    more->file = berth_steal(&file);
    return more->source ? 0 : berth_err_oom(g->err);
}

/* Notes that PATH was searched, or does not exist: a change there changes the stack. */
static void remember_place(struct gathering *g, const char *path)
{
    struct stat st;

    if (!berth_strvec_pair(&g->to->seen, path))
        berth_manifest_add_source(&g->to->seen, path,
                                  stat(path, &st) == 0 ? &st : NULL);
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
    if (berth_loader_list(NULL, g->loader, path, g->env.items, &closure, g->err) < 0)
        return mpi ? -1 : 0;
    lacking = find_missing(&closure);
    if (lacking && mpi)
        return berth_err_set(g->err,
                             "'%s': needs '%s', which this host does not find; load "
                             "its module, or set LD_LIBRARY_PATH",
                             path, lacking);
    if (lacking)
        return 0;
    return add(g, path, into, name, &kind) < 0 ? -1 : add_closure(g, &closure);
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

        if (!berth_text_matches_any(name, opener->skip))
            count = add_library(g, file, opener->into, name, NULL) < 0 ? -1 : count + 1;
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
            int found = path ? add_plugins(g, opener, path) : berth_err_oom(g->err);

            if (found != 0)
                return found;
        }
    return 0;
}

/* Adds the plugins of all files, which may bring libraries that open plugins. */
static int follow_openers(struct gathering *g)
{
    for (size_t i = 0; i < g->to->count; i++) {
        for (const struct berth_opener *it = berth_openers; it->library; it++) {
            const struct berth_gathered_file *file = &g->to->files[i];

            if (file->patched &&
                berth_profile_is(berth_text_base(file->file), it->library) &&
                open_beside(g, it, file->source) < 0)
                return -1;
        }
    }
    return 0;
}

/* Adds the directories that a profile names: of each the first place that has
 * libraries.
 */
static int add_own_plugins(struct gathering *g)
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
        if (stat(path, &st) == 0)
            return add_library(g, path, "lib", name, NULL) < 0 ? -1 : 1;
        remember_place(g, path);
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

/* Adds the file or directory PATH, as INTO. */
static int add_tree(struct gathering *g, const char *path, const char *into, int depth)
{
    static const struct berth_gathered_file plain = {0};
    BERTH_FREE char *directory = NULL;
    glob_t found = {0};
    struct stat st;
    int result = 0;

    if (stat(path, &st) < 0 || depth == DEPTH_MAX)
        return 0;
    if (S_ISREG(st.st_mode)) {
        directory = strndup(into, (size_t)(strrchr(into, '/') - into));
        return directory ? add(g, path, directory, berth_text_base(into), &plain)
                         : berth_err_oom(g->err);
    }
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

            if (!file->patched ||
                !berth_profile_is(berth_text_base(file->file), it->library))
                continue;
            source = strdup(file->source); /* the files move when one is added */
            if (!source)
                return berth_err_oom(g->err);
            if (add_datum(g, source, &it->data) < 0)
                return -1;
        }
    return 0;
}

/* Adds all of glibc, from the directory of the libc.so.6 that the C library of MPI
 * gets. */
static int add_glibc(struct gathering *g)
{
    static const struct berth_gathered_file plain = {0};
    const char *c_library = g->stack->libraries[0].path;
    const struct berth_closure_item *libc;
    BERTH_CLOSURE struct berth_closure closure = {0};
    int result;

    if (berth_loader_list(NULL, g->loader, c_library, g->env.items, &closure, g->err) <
        0)
        return -1;
    libc = berth_closure_find(&closure, "libc.so.6");
    errno = ENOENT;
    result = libc && libc->path
                 ? add(g, g->loader, "glibc", berth_text_base(g->loader), &plain)
                 : berth_err_file(g->err, "libc.so.6", "read");
    for (const char *const *name = berth_profile_glibc; result == 0 && *name; name++) {
        BERTH_FREE char *path = berth_path_beside(libc->path, *name);

        if (!path)
            result = berth_err_oom(g->err);
        else if (access(path, R_OK) == 0)
            result = add(g, path, "glibc", *name, &plain);
    }
    return result;
}

/* Adds the link INTO/NAME to TARGET. */
static int add_alias(struct gathering *g, const char *into, const char *name,
                     const char *target)
{
    BERTH_FREE char *file = NULL;

    if (asprintf(&file, "%s/%s", into, name) < 0)
        return berth_err_oom(g->err);
    link_to(g->to, file, target);
    return g->to->links.failed ? berth_err_oom(g->err) : 0;
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

/* Adds links to the libraries of MPI under all names that programs use, in mpi/. A name
 * with a version is a SONAME on other systems. The library must have that name however
 * it is loaded (bindover/build.c), so a link is beside it, too. */
static int add_aliases(struct gathering *g)
{
    for (size_t i = 0; i < g->to->count; i++) {
        struct berth_gathered_file *file = &g->to->files[i];
        BERTH_STRVEC struct berth_strvec names = {0};

        if (!file->mpi)
            continue;
        berth_profile_aliases(file->mpi->soname, &names);
        for (size_t j = 0; j < names.count; j++) {
            const char *name = names.items[j];

            if (add_alias(g, "mpi", name, file->file) < 0)
                return -1;
            if (strcmp(name, file->mpi->soname) == 0 || !strstr(name, ".so.") ||
                is_taken(g->to, name, file->mpi->soname))
                continue;
            if (add_alias(g, "lib", name, file->file) < 0)
                return -1;
            berth_strvec_push(&file->needs, name);
        }
        if (names.failed || file->needs.failed)
            return berth_err_oom(g->err);
    }
    return 0;
}

static int gather_all(struct gathering *g)
{
    for (size_t i = 0; i < g->stack->count; i++) {
        const struct berth_stack_library *it = &g->stack->libraries[i];

        if (add_library(g, it->path, "lib", it->soname, it) < 0)
            return -1;
    }
    if (add_names(g) < 0 || add_own_plugins(g) < 0 || follow_openers(g) < 0 ||
        add_data(g) < 0 || add_configs(g) < 0 || add_glibc(g) < 0 ||
        add_aliases(g) < 0 || berth_sisters_add(g->to, g->err) < 0)
        return -1;
    return g->to->seen.failed ? berth_err_oom(g->err) : 0;
}

int berth_stagefiles_gather(const struct berth_stack *stack,
                            struct berth_gathered *ret_gathered, struct berth_err *err)
{
    struct berth_gathered gathered = {0};
    struct gathering g = {.stack = stack, .to = &gathered, .err = err};
    int result;

    berth_strvec_pushf(&g.env, "LD_LIBRARY_PATH=%s",
                       stack->search ? stack->search : "");
    result = g.env.failed ? berth_err_oom(err)
                          : berth_loader_self(&g.loader, &g.program, err);
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
