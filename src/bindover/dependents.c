/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of an image that need libraries that the host's replace,
 * where these files get the libraries, and which symbols they lack. */

#include "bindover/dependents.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/resolve.h"
#include "base/run.h"
#include "base/text.h"
#include "bindover/commandwords.h"
#include "bindover/decide.h"
#include "bindover/loader.h"
#include "mpi/profile.h"
#include "request/path.h"

extern char **environ;

static bool needs_any(const char *const *sonames, const struct berth_elf *elf)
{
    for (size_t i = 0; i < elf->needed.count; i++)
        if (berth_text_is_any(elf->needed.items[i], sonames))
            return true;
    return false;
}

static bool is_replaced(const struct berth_users *users, const char *soname)
{
    return soname && berth_text_is_any(soname, users->sonames);
}

/* OBJECT, if it needs a library that is replaced and is none itself. */
static void add_object(struct berth_users *users, const struct berth_mpi_object *object)
{
    if (!is_replaced(users, object->soname) && needs_any(users->sonames, &object->elf))
        berth_strvec_push_once(&users->files, object->path);
}

static void add_plugin(struct berth_users *users, const char *path)
{
    BERTH_ELF struct berth_elf elf = {0};

    if (berth_scan_elf(users->scan->cache, path, &elf, NULL) < 0)
        return;
    if (needs_any(users->sonames, &elf))
        berth_strvec_push_once(&users->files, path);
}

/* Add the plugins that OPENER finds from the directory of the library PATH. */
static void add_plugins(struct berth_users *users, const struct berth_opener *opener,
                        const char *path)
{
    for (const char *const *place = opener->places; *place; place++) {
        BERTH_FREE char *directory = berth_path_beside(path, *place);
        glob_t found = {0};

        if (!directory) {
            users->files.failed = true;
            return;
        }
        if (berth_scan_glob(directory, opener->pattern, &found))
            for (size_t i = 0; i < found.gl_pathc; i++)
                add_plugin(users, found.gl_pathv[i]);
        globfree(&found);
    }
}

/* Add the plugins that the library SONAME of the image, the file PATH, opens; those of
 * one that is replaced are replaced with it. */
static void follow_openers(struct berth_users *users, const char *soname,
                           const char *path)
{
    if (is_replaced(users, soname))
        return;
    for (const struct berth_opener *it = berth_openers; it->library; it++)
        if (berth_profile_is(soname, it->library))
            add_plugins(users, it, path);
}

/* Add the plugins that are opened by the libraries which PATH, an MPI that the program
 * may load, needs. */
static void follow_closure(struct berth_users *users, const char *path)
{
    BERTH_CLOSURE struct berth_closure closure = {0};

    if (berth_loader_list(users->scan->cache, users->scan->loader, path, environ,
                          &closure, NULL) < 0)
        return;
    for (size_t i = 0; i < closure.count; i++) {
        const struct berth_closure_item *item = &closure.items[i];
        BERTH_FREE char *real = item->path ? berth_resolve(item->path) : NULL;

        if (real)
            follow_openers(users, item->soname, real);
    }
}

static int find_files(struct berth_users *users, struct berth_err *err)
{
    const struct berth_mpi_objects *objects = &users->scan->objects;
    /* Then no other MPI of the image counts. */
    bool is_linked = berth_mpi_objects_load(objects);

    for (size_t i = 0; i < objects->count; i++) {
        const struct berth_mpi_object *object = &objects->items[i];

        if ((is_linked && object->role == BERTH_ROLE_PRESENT) ||
            is_replaced(users, object->soname))
            continue;
        add_object(users, object);
        if (object->role == BERTH_ROLE_PRESENT &&
            object->library.family != BERTH_FAMILY_NONE)
            follow_closure(users, object->path);
        else if (object->soname)
            follow_openers(users, object->soname, object->path);
    }
    if (users->files.failed)
        return berth_err_oom(err);
    return 0;
}

/* Does PROGRAM load what its script says, as Python its packages? */
static bool is_open(const struct berth_scan *scan)
{
    if (scan->is_script)
        return true;
    return scan->runner && berth_text_starts(berth_text_base(scan->runner), "python");
}

/* The program NAME, and the libraries that it is linked with. */
static void follow_program(struct berth_users *users, const char *name)
{
    BERTH_FREE char *path = NULL;
    BERTH_SCAN struct berth_scan scan = {0};

    if (strchr(name, '/'))
        path = strdup(name);
    else
        path = berth_run_find(name, getenv("PATH"));
    if (!path || !berth_run_is_program(path) || !users->scan->loader)
        return;
    if (berth_scan_program(users->scan->cache, path, environ, &scan, NULL) < 0)
        return;

    for (size_t i = 0; i < scan.objects.count; i++)
        add_object(users, &scan.objects.items[i]);
    if (is_open(&scan))
        users->is_open = true;
}

/* The programs that the command may start. */
static int find_later(struct berth_users *users, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec words = {0};

    users->is_open = is_open(users->scan);
    if (!users->command)
        return 0;
    berth_words_of(users->command, &words);
    for (size_t i = 0; i < words.count; i++)
        follow_program(users, words.items[i]);
    if (users->files.failed || words.failed)
        return berth_err_oom(err);
    return 0;
}

static void add_place(struct berth_users *users, const char *soname, const char *path)
{
    BERTH_FREE char *real = NULL;

    if (!path)
        return;
    real = berth_resolve(path);
    if (real && !berth_strvec_has(&users->places, real))
        berth_strvec_push_pair(&users->places, soname, real);
}

/* Does the loader find each library, in a version that is new enough? */
static bool is_whole(const struct berth_closure *closure)
{
    for (size_t i = 0; i < closure->count; i++)
        if (!closure->items[i].path)
            return false;
    return closure->lacks.count == 0;
}

/* Add the libraries that the file USER gets. False: it cannot be loaded without any
 * change, so it is not a user. */
static bool add_places(struct berth_users *users, const char *user)
{
    BERTH_CLOSURE struct berth_closure closure = {0};

    if (berth_loader_relocate(users->scan->loader, user, environ, &closure, NULL) < 0)
        return false;
    berth_strvec_append(&users->undefined, &closure.undefined);
    if (!is_whole(&closure))
        return false;
    for (size_t i = 0; i < closure.count; i++)
        if (is_replaced(users, closure.items[i].soname))
            add_place(users, closure.items[i].soname, closure.items[i].path);
    return true;
}

/* Add the library SONAME that any program finds, if the image has it. */
static void add_common(struct berth_users *users, const char *soname)
{
    const struct berth_mpi_object *library =
        berth_mpi_objects_find(&users->scan->objects, soname);

    if (!library)
        return;
    add_place(users, soname, library->path);
    if (library->role == BERTH_ROLE_PRESENT) /* else the runner loads it */
        add_places(users, library->path);
}

/* Find the image's libraries that are replaced: those that any program finds, and those
 * that a user finds in a directory of its own. */
static int find_places(struct berth_users *users, struct berth_err *err)
{
    const char *runner = users->scan->runner;
    BERTH_STRVEC struct berth_strvec files = users->files;

    users->files = (struct berth_strvec){0};
    for (const char *const *soname = users->sonames; *soname; soname++)
        add_common(users, *soname);
    if (!berth_strvec_has(&files, runner))
        add_places(users, runner);
    for (size_t i = 0; i < files.count; i++) {
        bool is_runner = strcmp(files.items[i], runner) == 0;

        /* The runner stays a user, whatever it lacks: the step runs it. */
        if (add_places(users, files.items[i]) || is_runner)
            berth_strvec_push(&users->files, files.items[i]);
    }
    if (users->places.failed || users->files.failed || users->undefined.failed)
        return berth_err_oom(err);
    return 0;
}

int berth_dependents_find(struct berth_users *users, struct berth_err *err)
{
    if (find_files(users, err) < 0)
        return -1;
    if (find_later(users, err) < 0)
        return -1;
    return find_places(users, err);
}

/* How many symbols of A are not in B. */
static size_t count_missing(const struct berth_elf *a, const struct berth_elf *b)
{
    size_t count = 0;

    for (size_t i = 0; i < a->defined.count; i++)
        if (!berth_elf_find(&b->defined, a->defined.items[i].name))
            count++;
    return count;
}

/* Count the symbols that the library HOST lost and gained against IMAGE. */
static int compare(const char *image, const char *host, size_t *lost, size_t *gained,
                   struct berth_err *err)
{
    BERTH_ELF struct berth_elf old = {0};
    BERTH_ELF struct berth_elf new = {0};

    if (berth_elf_read_path(image, NULL, &old, err) < 0 ||
        berth_elf_read_path(host, NULL, &new, err) < 0)
        return -1;
    *lost += count_missing(&old, &new);
    *gained += count_missing(&new, &old);
    return 0;
}

/* A library may refuse a program that was built with a newer release, as UCX does. A
 * library without versions does not show its release, but each release adds more
 * symbols than it removes (seen: UCX 1.13, 1.18 and 1.23). */
int berth_dependents_check_age(const struct berth_users *users,
                               const struct berth_mpi_objects *staged,
                               const struct berth_stack *stack, struct berth_err *err)
{
    const struct berth_strvec *places = &users->places;
    size_t lost = 0, gained = 0;

    for (size_t i = 0; i < places->count; i += 2) {
        const struct berth_mpi_object *host =
            berth_mpi_objects_find(staged, places->items[i]);

        if (host && compare(places->items[i + 1], host->path, &lost, &gained, err) < 0)
            return -1;
    }
    if (lost <= gained)
        return 0;
    return berth_err_set(err,
                         "the host's %s is older than the image's: it lacks %zu "
                         "symbols of that, and has %zu others",
                         stack->version, lost, gained);
}

void berth_dependents_fini(struct berth_users *users)
{
    berth_strvec_fini(&users->files);
    berth_strvec_fini(&users->places);
    berth_strvec_fini(&users->undefined);
}
