/* SPDX-License-Identifier: Apache-2.0 */
/* Judges, mounts and verifies one stage of the host's MPI, or of a fabric, over an
 * image's libraries. */

#include "bindover/replacement.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/resolve.h"
#include "base/text.h"
#include "bindover/bindover.h"
#include "bindover/loader.h"

static const char *advice_of(const struct berth_replacement *replacement)
{
    return replacement->family != BERTH_FAMILY_NONE ? "choose --mpi-bind=hybrid"
                                                    : "leave --container-libs out";
}

static int read_manifest(struct berth_replacement *replacement, struct berth_err *err)
{
    BERTH_FREE char *path = NULL;
    BERTH_BUF struct berth_buf text = {0};

    if (asprintf(&path, "%s/manifest", replacement->mounted) < 0)
        return berth_err_oom(err);
    if (berth_fd_read_path(path, BERTH_MANIFEST_MAX, &text) < 0)
        return berth_err_set(err, "'%s': %s", path, strerror(errno));
    berth_buf_puts(&text, "");
    if (text.failed)
        return berth_err_oom(err);
    if (berth_manifest_read(text.text, &replacement->manifest, err) < 0)
        return berth_err_at(err, "'%s'", path);
    return 0;
}

static bool is_library(const struct berth_staged_file *file)
{
    return strcmp(file->soname, "-") != 0;
}

static int read_staged(struct berth_factcache *cache,
                       struct berth_replacement *replacement, struct berth_err *err)
{
    const struct berth_manifest *manifest = &replacement->manifest;

    for (size_t i = 0; i < manifest->file_count; i++) {
        const struct berth_staged_file *file = &manifest->files[i];
        BERTH_FREE char *path = NULL;

        if (!is_library(file))
            continue;
        if (asprintf(&path, "%s/%s", replacement->mounted, file->file) < 0)
            return berth_err_oom(err);
        if (berth_scan_add(cache, &replacement->staged, BERTH_ROLE_LOADED, file->soname,
                           path, err) < 0)
            return -1;
    }
    replacement->files =
        calloc(replacement->staged.count + 1, sizeof(*replacement->files));
    if (!replacement->files)
        return berth_err_oom(err);
    for (size_t i = 0; i < replacement->staged.count; i++) {
        struct stat st;

        if (stat(replacement->staged.items[i].path, &st) < 0)
            return berth_err_set(err, "'%s': %s", replacement->staged.items[i].path,
                                 strerror(errno));
        replacement->files[i] = (struct berth_replacement_file){st.st_dev, st.st_ino};
    }
    return 0;
}

int berth_replacement_open(struct berth_factcache *cache, const char *mounted,
                           const char *host, struct berth_replacement *replacement,
                           struct berth_err *err)
{
    replacement->mounted = strdup(mounted);
    replacement->host = strdup(host);
    if (!replacement->mounted || !replacement->host)
        return berth_err_oom(err);
    if (read_manifest(replacement, err) < 0)
        return -1;
    berth_strvec_append(&replacement->set, &replacement->manifest.set);
    if (replacement->set.failed)
        return berth_err_oom(err);
    return read_staged(cache, replacement, err);
}

static void add_pair(struct berth_strvec *pairs, const char *from, const char *over)
{
    berth_strvec_push(pairs, from);
    berth_strvec_push(pairs, over);
}

/* The length of the directory of PATH, with its slash. */
static int directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (int)(slash - path) + 1 : 0;
}

/* Plan all files of the host's glibc over those of the image, since they work only
 * together. The host's loader goes over the file that the program names as its loader.
 */
static int plan_glibc(struct berth_replacement *replacement,
                      const struct berth_scan *scan, struct berth_err *err)
{
    const struct berth_mpi_object *libc =
        berth_mpi_objects_find(&scan->objects, "libc.so.6");
    BERTH_FREE char *loader = scan->loader ? berth_resolve(scan->loader) : NULL;

    if (!libc || !loader)
        return berth_err_set(err,
                             "the image has no glibc that the host's could replace; %s",
                             advice_of(replacement));
    for (size_t i = 0; i < replacement->manifest.file_count; i++) {
        const char *file = replacement->manifest.files[i].file;
        BERTH_FREE char *staged = NULL;
        BERTH_FREE char *image = NULL;
        BERTH_FREE char *real = NULL;

        if (!berth_text_starts(file, "glibc/"))
            continue;
        if (asprintf(&staged, "%s/%s", replacement->mounted, file) < 0 ||
            asprintf(&image, "%.*s%s", directory_length(libc->path), libc->path,
                     file + 6) < 0)
            return berth_err_oom(err);
        real = berth_text_starts(file + 6, "ld-linux") ? berth_steal(&loader)
                                                       : berth_resolve(image);
        if (real)
            add_pair(&replacement->binds, staged, real);
    }
    return 0;
}

/* Let the program find the staged library by LD_LIBRARY_PATH: the image has no file
 * over which the library could be mounted. */
static void plan_path(struct berth_replacement *replacement, char *const *env)
{
    const char *own = berth_environ_value(env, "LD_LIBRARY_PATH");
    const char *rest = own ? own : "";

    berth_strvec_pushf(&replacement->set, "LD_LIBRARY_PATH=%s/mpi%s%s",
                       replacement->mounted, *rest ? ":" : "", rest);
}

/* Plan, for GCC's libraries, that the process gets the copy that serves both sides,
 * whichever library the program loads first. */
static void plan_twins(struct berth_replacement *replacement)
{
    for (size_t i = 0; i < replacement->verdict.choices.count; i++) {
        const struct berth_mpi_choice *choice = &replacement->verdict.choices.items[i];

        if (!berth_profile_is_gcc(choice->host->soname))
            continue;
        if (!choice->from_host)
            add_pair(&replacement->out, choice->image->path, choice->host->path);
        else if (!choice->image_serves)
            add_pair(&replacement->binds, choice->host->path, choice->image->path);
    }
}

static int check_memory(const struct berth_replacement *replacement,
                        struct berth_err *err)
{
    return replacement->binds.failed || replacement->out.failed ||
                   replacement->set.failed
               ? berth_err_oom(err)
               : 0;
}

int berth_replacement_plan(struct berth_replacement *replacement,
                           const struct berth_mpi_program *program,
                           const struct berth_scan *scan, char *const *env,
                           struct berth_err *err)
{
    struct berth_mpi_verdict *verdict = &replacement->verdict;

    replacement->is_linked = program->family == replacement->family;
    if (berth_mpi_judge(program, &scan->objects, &replacement->staged, verdict, err) <
        0)
        return -1;
    if (verdict->answer == BERTH_VERDICT_NO ||
        verdict->answer == BERTH_VERDICT_CANNOT_TELL) {
        *err = verdict->because;
        return -1;
    }
    if (berth_bindover_plan(&scan->objects, &replacement->staged, replacement->family,
                            &replacement->binds, err) < 0)
        return -1;
    if (replacement->binds.count == 0)
        plan_path(replacement, env);
    if (program->family == BERTH_FAMILY_NONE)
        plan_twins(replacement);
    if (verdict->answer == BERTH_VERDICT_YES_WITH_HOST_GLIBC &&
        plan_glibc(replacement, scan, err) < 0)
        return -1;
    return check_memory(replacement, err);
}

/* The SONAMEs that the stage of a fabric replaces; NULL: the stage is of an MPI. */
static const char *const *sonames_of(const struct berth_replacement *replacement)
{
    return replacement->family == BERTH_FAMILY_NONE
               ? berth_stack_replaces(replacement->stack)
               : NULL;
}

/* Plan which copy the process gets of each library that both sides have, whichever file
 * loads it first. */
static void plan_choices(struct berth_replacement *replacement)
{
    const char *const *sonames = sonames_of(replacement);

    for (size_t i = 0; i < replacement->verdict.choices.count; i++) {
        const struct berth_mpi_choice *choice = &replacement->verdict.choices.items[i];

        if (!choice->from_host)
            add_pair(&replacement->out, choice->image->path, choice->host->path);
        else if (choice->is_network || !choice->image_serves ||
                 berth_text_is_any(choice->host->soname, sonames))
            add_pair(&replacement->binds, choice->host->path, choice->image->path);
    }
}

int berth_replacement_plan_fabric(struct berth_replacement *replacement,
                                  const struct berth_scan *scan, char *const *env,
                                  struct berth_err *err)
{
    struct berth_mpi_verdict *verdict = &replacement->verdict;
    const char *const *soname = sonames_of(replacement);

    for (; *soname && !replacement->is_linked; soname++)
        replacement->is_linked = berth_closure_find(&scan->closure, *soname);
    if (berth_mpi_judge_fabric(replacement->stack->version, advice_of(replacement),
                               &scan->objects, &replacement->staged, verdict, err) < 0)
        return -1;
    if (verdict->answer != BERTH_VERDICT_YES &&
        verdict->answer != BERTH_VERDICT_YES_WITH_HOST_GLIBC) {
        *err = verdict->because;
        return -1;
    }
    plan_choices(replacement);
    if (berth_stack_adds_libraries(replacement->stack))
        plan_path(replacement, env);
    if (verdict->answer == BERTH_VERDICT_YES_WITH_HOST_GLIBC &&
        plan_glibc(replacement, scan, err) < 0)
        return -1;
    return check_memory(replacement, err);
}

/* The root of an Apptainer container is unbindable (mount_namespaces(7)): nothing of it
 * can be the source of a bind mount as long as it is. */
static int bind_of_root(const char *from, const char *over)
{
    int result, number;

    if (mount(NULL, "/", NULL, MS_PRIVATE, NULL) < 0)
        return -1;
    result = mount(from, over, NULL, MS_BIND, NULL);
    number = errno;
    mount(NULL, "/", NULL, MS_UNBINDABLE, NULL);
    errno = number;
    return result;
}

static int bind_file(const char *from, const char *over)
{
    if (mount(from, over, NULL, MS_BIND, NULL) == 0)
        return 0;
    return errno == EINVAL ? bind_of_root(from, over) : -1;
}

void berth_replacement_leave_out(struct berth_replacement *replacement,
                                 struct berth_strvec *bound)
{
    berth_bound_drop(&replacement->out, bound);
    berth_bound_drop(&replacement->binds, bound);
}

/* Mount the PAIRS from number *DONE on. */
static int mount_pairs(const struct berth_strvec *pairs, size_t *done,
                       struct berth_err *err)
{
    for (; *done < pairs->count; *done += 2) {
        const char *from = pairs->items[*done];
        const char *over = pairs->items[*done + 1];

        if (bind_file(from, over) < 0)
            return berth_err_set(err, "cannot mount '%s' over '%s': %s", from, over,
                                 strerror(errno));
    }
    return 0;
}

int berth_replacement_mount(struct berth_replacement *replacement,
                            struct berth_err *err)
{
    if (mount_pairs(&replacement->out, &replacement->out_done, err) < 0)
        return -1;
    return mount_pairs(&replacement->binds, &replacement->done, err);
}

int berth_replacement_set(const struct berth_replacement *replacement,
                          struct berth_err *err)
{
    for (size_t i = 0; i < replacement->set.count; i++) {
        char *copy = strdup(replacement->set.items[i]);

        if (!copy || putenv(copy) != 0)
            return berth_err_oom(err);
    }
    return 0;
}

static void undo_pairs(const struct berth_strvec *pairs, size_t *done)
{
    for (; *done > 0; *done -= 2)
        umount2(pairs->items[*done - 1], MNT_DETACH);
}

void berth_replacement_undo(struct berth_replacement *replacement)
{
    undo_pairs(&replacement->binds, &replacement->done);
    undo_pairs(&replacement->out, &replacement->out_done);
}

const struct berth_mpi_object *
berth_replacement_staged(const struct berth_replacement *replacement, const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return NULL;
    for (size_t i = 0; i < replacement->staged.count; i++)
        if (replacement->files[i].device == st.st_dev &&
            replacement->files[i].inode == st.st_ino)
            return &replacement->staged.items[i];
    return NULL;
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
    const char *const *sonames = sonames_of(replacement);

    if (!sonames)
        return berth_mpi_objects_mpi(&replacement->staged, replacement->family);
    return *sonames ? berth_mpi_objects_find(&replacement->staged, *sonames) : NULL;
}

/* Ask the loader what the program, or the staged library, loads now. */
static int list(struct berth_replacement *replacement, const struct berth_scan *scan,
                char *const *env, struct berth_err *err)
{
    const struct berth_mpi_object *library = first_library(replacement);

    if (!scan->loader)
        return berth_err_set(err, "the program has no loader");
    replacement->target =
        replacement->is_linked || !library ? scan->runner : library->path;
    berth_closure_fini(&replacement->closure);
    replacement->closure = (struct berth_closure){0};
    return berth_loader_list(NULL, scan->loader, replacement->target, env,
                             &replacement->closure, err);
}

/* Mount the host's copy over the image's where the loader shows the wrong one. */
static int resolve_collisions(struct berth_replacement *replacement,
                              const struct berth_closure *closure,
                              struct berth_err *err)
{
    for (size_t i = 0; i < closure->count; i++) {
        const struct berth_closure_item *item = &closure->items[i];
        const struct berth_mpi_choice *choice = find_collision(replacement, item);
        BERTH_FREE char *real = item->path ? berth_resolve(item->path) : NULL;

        if (choice && real && !berth_replacement_staged(replacement, real))
            add_pair(&replacement->binds, choice->host->path, real);
    }
    return replacement->binds.failed ? berth_err_oom(err)
                                     : berth_replacement_mount(replacement, err);
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
    bool is_fabric = sonames_of(replacement);
    const char *advice = advice_of(replacement);

    for (size_t i = 0; i < closure->count; i++)
        if (!closure->items[i].path &&
            is_missing_anyway(scan, closure->items[i].soname))
            return berth_err_set(err,
                                 "'%s' needs '%s', which is not in the image; install "
                                 "it there, or mount the directory that has it and "
                                 "name that in LD_LIBRARY_PATH (--container-env)",
                                 scan->runner, closure->items[i].soname);
        else if (!closure->items[i].path)
            return berth_err_set(
                err,
                "with the host's %s, '%s' is not found; install it in the image, or %s",
                is_fabric ? replacement->stack->version : "MPI",
                closure->items[i].soname, advice);
    if (closure->lacks.count)
        return berth_err_set(err,
                             "'%s' wants %s of '%s', which is older; %s, or %sa newer "
                             "image",
                             closure->lacks.items[2], closure->lacks.items[1],
                             closure->lacks.items[0], advice, is_fabric ? "take " : "");
    return 0;
}

/* Was PATH, before the mounts, a library of the family in the image? */
static bool is_of_family(const struct berth_replacement *replacement,
                         const struct berth_scan *scan, const char *path)
{
    for (size_t i = 0; i < scan->objects.count; i++)
        if (scan->objects.items[i].library.family == replacement->family &&
            strcmp(scan->objects.items[i].path, path) == 0)
            return true;
    return false;
}

/* Every library of the family must be a staged one, and a program that is linked with
 * the family must load one. Files are compared, not names: the program may want
 * libmpi.so.12, and the host's may be libmpich.so.12. */
static int check_family(const struct berth_replacement *replacement,
                        const struct berth_scan *scan,
                        const struct berth_closure *closure, struct berth_err *err)
{
    bool found = false;

    for (size_t i = 0; i < closure->count; i++) {
        BERTH_FREE char *real = berth_resolve(closure->items[i].path);
        const struct berth_mpi_object *staged =
            real ? berth_replacement_staged(replacement, real) : NULL;

        if (staged)
            found |= staged->library.family == replacement->family;
        else if (real && is_of_family(replacement, scan, real))
            return berth_err_set(err,
                                 "'%s' would run with the image's '%s' and not with "
                                 "the host's MPI; choose --mpi-bind=hybrid",
                                 scan->runner, real);
    }
    if (!found && replacement->is_linked)
        return berth_err_set(err,
                             "'%s' would run without the host's MPI; choose "
                             "--mpi-bind=hybrid",
                             scan->runner);
    return 0;
}

/* Each library that a fabric replaces must be the staged one. */
static int check_sonames(const struct berth_replacement *replacement,
                         const char *target, const struct berth_closure *closure,
                         struct berth_err *err)
{
    for (const char *const *it = sonames_of(replacement); *it; it++) {
        const struct berth_closure_item *item = berth_closure_find(closure, *it);
        BERTH_FREE char *real = item ? berth_resolve(item->path) : NULL;

        if (real && !berth_replacement_staged(replacement, real))
            return berth_err_set(err,
                                 "'%s' would run with '%s' and not with the host's %s; "
                                 "%s",
                                 target, real, replacement->stack->version,
                                 advice_of(replacement));
    }
    return 0;
}

/* Checks CLOSURE, which is that of TARGET. */
static int check_replaced(const struct berth_replacement *replacement,
                          const struct berth_scan *scan, const char *target,
                          const struct berth_closure *closure, struct berth_err *err)
{
    if (check_complete(replacement, closure, scan, err) < 0)
        return -1;
    return sonames_of(replacement) ? check_sonames(replacement, target, closure, err)
                                   : check_family(replacement, scan, closure, err);
}

int berth_replacement_verify_user(struct berth_replacement *replacement,
                                  const struct berth_scan *scan, const char *target,
                                  char *const *env, struct berth_err *err)
{
    struct berth_closure closure;
    int result;

    if (berth_loader_list(NULL, scan->loader, target, env, &closure, err) < 0)
        return -1;
    result = check_replaced(replacement, scan, target, &closure, err);
    berth_closure_fini(&closure);
    return result;
}

int berth_replacement_verify(struct berth_replacement *replacement,
                             const struct berth_scan *scan, char *const *env,
                             struct berth_err *err)
{
    size_t mounted = replacement->done;

    if (list(replacement, scan, env, err) < 0 ||
        resolve_collisions(replacement, &replacement->closure, err) < 0)
        return -1;
    /* The host's copies may need other libraries. */
    if (replacement->done != mounted && list(replacement, scan, env, err) < 0)
        return -1;
    if (berth_loader_check_c_library(scan->loader, scan->runner, env,
                                     &replacement->closure, err) < 0)
        return -1;
    return check_replaced(replacement, scan, scan->runner, &replacement->closure, err);
}

void berth_replacement_fini(struct berth_replacement *replacement)
{
    berth_mpi_verdict_fini(&replacement->verdict);
    berth_closure_fini(&replacement->closure);
    berth_mpi_objects_fini(&replacement->staged);
    berth_manifest_fini(&replacement->manifest);
    berth_strvec_fini(&replacement->binds);
    berth_strvec_fini(&replacement->out);
    berth_strvec_fini(&replacement->set);
    free(replacement->files);
    free(replacement->mounted);
    free(replacement->host);
    *replacement = (struct berth_replacement){0};
}
