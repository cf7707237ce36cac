/* SPDX-License-Identifier: Apache-2.0 */
/* Judges one stage of the host's libraries for the place of an image's, and plans the
 * mounts. */

#include "bindover/replacement.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/resolve.h"
#include "base/text.h"
#include "request/path.h"

bool berth_replacement_stands_for(const struct berth_replacement *replacement,
                                  const char *soname)
{
    return !berth_replacement_is_mpi(replacement) &&
           berth_text_is_any(soname, berth_stack_replaces(replacement->stack));
}

bool berth_replacement_is_out(const struct berth_replacement *replacement, size_t at)
{
    return berth_text_starts(replacement->binds.items[at + 1], replacement->mounted);
}

const char *berth_replacement_name(const struct berth_replacement *replacement)
{
    return berth_replacement_is_mpi(replacement) ? "MPI" : replacement->stack->version;
}

const char *berth_replacement_advice(const struct berth_replacement *replacement)
{
    return berth_replacement_is_mpi(replacement) ? "; choose --mpi-bind=hybrid" : "";
}

static int read_manifest(struct berth_replacement *replacement, struct berth_err *err)
{
    BERTH_FREE char *path = NULL;
    BERTH_BUF struct berth_buf text = {0};

    if (asprintf(&path, "%s/manifest", replacement->mounted) < 0)
        return berth_err_oom(err);
    if (berth_fd_read_path(path, BERTH_MANIFEST_MAX, &text) < 0)
        return berth_err_file(err, path, "read");
    berth_buf_puts(&text, "");
    if (text.failed)
        return berth_err_oom(err);
    if (berth_manifest_read(text.text, &replacement->manifest, err) < 0)
        return berth_err_at(err, "'%s'", path);
    return 0;
}

static int read_staged(struct berth_factcache *cache,
                       struct berth_replacement *replacement, struct berth_err *err)
{
    const struct berth_strvec *files = &replacement->manifest.files;

    replacement->files = calloc(files->count + 1, sizeof(*replacement->files));
    if (!replacement->files)
        return berth_err_oom(err);
    for (size_t i = 0; i < files->count; i += BERTH_MANIFEST_FILE) {
        const char *soname = files->items[i + 1];
        BERTH_FREE char *path = NULL;

        if (!*soname)
            continue;
        if (asprintf(&path, "%s/%s", replacement->mounted, files->items[i]) < 0)
            return berth_err_oom(err);
        if (stat(path, &replacement->files[replacement->staged.count]) < 0)
            return berth_err_file(err, path, "read");
        if (berth_scan_add(cache, &replacement->staged, BERTH_ROLE_LOADED, soname, path,
                           err) < 0)
            return -1;
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

/* Plan all files of the host's glibc over those of the image, since they work only
 * together. The host's loader goes over the file that the program names as its loader.
 */
static int plan_glibc(struct berth_replacement *replacement,
                      const struct berth_scan *scan, struct berth_err *err)
{
    const struct berth_strvec *files = &replacement->manifest.files;
    const struct berth_mpi_object *libc =
        berth_mpi_objects_find(&scan->objects, "libc.so.6");
    BERTH_FREE char *loader = scan->loader ? berth_resolve(scan->loader) : NULL;

    if (!libc || !loader)
        return berth_err_file(err, libc ? scan->loader : "libc.so.6", "read");
    for (size_t i = 0; i < files->count; i += BERTH_MANIFEST_FILE) {
        const char *file = files->items[i];
        BERTH_FREE char *staged = NULL;
        BERTH_FREE char *image = NULL;
        BERTH_FREE char *real = NULL;

        if (!berth_text_starts(file, "glibc/"))
            continue;
        image = berth_path_beside(libc->path, file + 6);
        if (!image || asprintf(&staged, "%s/%s", replacement->mounted, file) < 0)
            return berth_err_oom(err);
        real = berth_text_starts(file + 6, "ld-linux") ? berth_steal(&loader)
                                                       : berth_resolve(image);
        if (real)
            berth_strvec_push_pair(&replacement->binds, staged, real);
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

/* Plan which copy the process gets of each library that both sides have, whichever file
 * loads it first; beside an MPI, of GCC's libraries alone. */
static void plan_choices(struct berth_replacement *replacement)
{
    for (size_t i = 0; i < replacement->verdict.choices.count; i++) {
        const struct berth_mpi_choice *choice = &replacement->verdict.choices.items[i];
        const char *soname = choice->host->soname;

        if (berth_replacement_is_mpi(replacement) && !berth_profile_is_gcc(soname))
            continue;
        if (!choice->from_host)
            berth_strvec_push_pair(&replacement->binds, choice->image->path,
                                   choice->host->path);
        else if (!choice->image_serves ||
                 berth_replacement_stands_for(replacement, soname) ||
                 (choice->is_network && !berth_replacement_is_mpi(replacement)))
            berth_strvec_push_pair(&replacement->binds, choice->host->path,
                                   choice->image->path);
    }
}

/* The staged file that can replace LIBRARY of the image; NULL: none can. */
static const struct berth_mpi_object *find_twin(const struct berth_mpi_library *library,
                                                const struct berth_mpi_objects *staged)
{
    const struct berth_mpi_object *best = NULL;

    for (size_t i = 0; i < staged->count; i++) {
        const struct berth_mpi_object *other = &staged->items[i];

        if (other->library.family != library->family ||
            (library->parts & ~other->library.parts))
            continue;
        if (!best || __builtin_popcount(other->library.parts) <
                         __builtin_popcount(best->library.parts))
            best = other;
    }
    return best;
}

int berth_replacement_pair(const struct berth_mpi_objects *image,
                           const struct berth_mpi_objects *staged,
                           enum berth_mpi_family family, struct berth_strvec *binds,
                           struct berth_err *err)
{
    for (size_t i = 0; i < image->count; i++) {
        const struct berth_mpi_object *object = &image->items[i];
        const struct berth_mpi_object *twin = find_twin(&object->library, staged);

        if (twin && object->library.family == family && !object->library.is_inside)
            berth_strvec_push_pair(binds, twin->path, object->path);
    }
    return binds->failed ? berth_err_oom(err) : 0;
}

/* The staged file for users that need SONAME; "" where there is none. Libraries may
 * have another SONAME than the name of their file: a site links libblas.so.3 to the
 * library of a vendor. The caller frees it; NULL: out of memory. */
static char *find_staged(const struct berth_replacement *replacement,
                         const char *soname)
{
    const struct berth_mpi_object *staged =
        berth_mpi_objects_find(&replacement->staged, soname);
    char *path = NULL;

    if (staged || replacement->stack->profile->kind != BERTH_PROFILE_LIBRARIES)
        return strdup(staged ? staged->path : "");
    if (asprintf(&path, "%s/lib/%s", replacement->mounted, soname) < 0)
        return NULL;
    if (access(path, R_OK) < 0)
        *path = '\0';
    return path;
}

/* The host's libraries over those in directories of their own, too. */
static int plan_places(struct berth_replacement *replacement, struct berth_err *err)
{
    struct berth_strvec *binds = &replacement->binds;

    for (size_t i = 0; i < replacement->users.places.count; i += 2) {
        BERTH_FREE char *staged =
            find_staged(replacement, replacement->users.places.items[i]);

        if (!staged)
            return berth_err_oom(err);
        if (!*staged)
            return berth_err_set(err, "the image has '%s', and the host does not",
                                 replacement->users.places.items[i + 1]);
        if (berth_strvec_has(binds, replacement->users.places.items[i + 1]))
            continue;
        berth_strvec_push_pair(binds, staged, replacement->users.places.items[i + 1]);
    }
    return binds->failed ? berth_err_oom(err) : 0;
}

/* A library in the place of the image's looks for plugins beside itself first, and
 * would load those of the image: the directory of the host's goes over theirs. */
static int plan_plugins(struct berth_replacement *replacement, const char *library,
                        const struct berth_opener *opener, struct berth_err *err)
{
    struct berth_strvec *binds = &replacement->binds;

    for (const char *const *place = opener->places; *place; place++) {
        BERTH_FREE char *own = berth_path_beside(library, *place);
        BERTH_FREE char *real = own ? berth_resolve(own) : NULL;

        if (!own)
            return berth_err_oom(err);
        if (!real)
            continue;
        berth_strvec_pushf(binds, "%s/%s", replacement->mounted, opener->into);
        berth_strvec_push(binds, real);
        if (access(binds->items[binds->count - 2], F_OK) < 0)
            return berth_err_set(
                err,
                "the host's %s has no plugins, and would load those of "
                "the image in '%s'",
                replacement->stack->version, real);
    }
    return binds->failed ? berth_err_oom(err) : 0;
}

static int plan_all_plugins(struct berth_replacement *replacement,
                            struct berth_err *err)
{
    const struct berth_strvec *binds = &replacement->binds;
    size_t files = binds->count;

    for (size_t i = 0; i < files; i += 2)
        for (const struct berth_opener *it = berth_openers; it->library; it++)
            if (it->is_first && !berth_replacement_is_out(replacement, i) &&
                berth_profile_is(berth_text_base(binds->items[i]), it->library) &&
                plan_plugins(replacement, binds->items[i + 1], it, err) < 0)
                return -1;
    return 0;
}

/* Judge whether the staged libraries can be in the process of PROGRAM. */
static int judge(struct berth_replacement *replacement,
                 const struct berth_mpi_program *program, const struct berth_scan *scan,
                 struct berth_err *err)
{
    struct berth_mpi_verdict *verdict = &replacement->verdict;
    int result = berth_replacement_is_mpi(replacement)
                     ? berth_mpi_judge(program, &scan->objects, &replacement->staged,
                                       verdict, err)
                     : berth_mpi_judge_fabric(berth_replacement_name(replacement),
                                              &scan->objects, &replacement->staged,
                                              verdict, err);

    if (result < 0)
        return -1;
    if (verdict->answer == BERTH_VERDICT_NO ||
        verdict->answer == BERTH_VERDICT_CANNOT_TELL) {
        *err = verdict->because;
        return -1;
    }
    return 0;
}

static bool is_linked(const struct berth_replacement *replacement,
                      const struct berth_mpi_program *program,
                      const struct berth_scan *scan)
{
    if (berth_replacement_is_mpi(replacement))
        return program->family == replacement->family;
    for (size_t i = 0; i < scan->closure.count; i++)
        if (berth_replacement_stands_for(replacement, scan->closure.items[i].soname))
            return true;
    return false;
}

int berth_replacement_plan(struct berth_replacement *replacement,
                           const struct berth_mpi_program *program,
                           const struct berth_scan *scan, char *const *env,
                           struct berth_err *err)
{
    const struct berth_profile *profile = replacement->stack->profile;

    replacement->is_linked = is_linked(replacement, program, scan);
    if (judge(replacement, program, scan, err) < 0)
        return -1;
    if (berth_replacement_is_mpi(replacement) &&
        berth_replacement_pair(&scan->objects, &replacement->staged,
                               replacement->family, &replacement->binds, err) < 0)
        return -1;
    if (berth_replacement_is_mpi(replacement)
            ? replacement->binds.count == 0
            : profile->kind == BERTH_PROFILE_LIBRARIES && profile->adds)
        plan_path(replacement, env);
    if (!berth_replacement_is_mpi(replacement) || program->family == BERTH_FAMILY_NONE)
        plan_choices(replacement);
    if (replacement->verdict.answer == BERTH_VERDICT_YES_WITH_HOST_GLIBC &&
        plan_glibc(replacement, scan, err) < 0)
        return -1;
    if (!berth_replacement_is_mpi(replacement) &&
        (plan_places(replacement, err) < 0 || plan_all_plugins(replacement, err) < 0))
        return -1;
    return replacement->binds.failed || replacement->set.failed ? berth_err_oom(err)
                                                                : 0;
}

const struct berth_mpi_object *
berth_replacement_staged(const struct berth_replacement *replacement, const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return NULL;
    for (size_t i = 0; i < replacement->staged.count; i++)
        if (replacement->files[i].st_dev == st.st_dev &&
            replacement->files[i].st_ino == st.st_ino)
            return &replacement->staged.items[i];
    return NULL;
}

void berth_replacement_fini(struct berth_replacement *replacement)
{
    berth_dependents_fini(&replacement->users);
    berth_mpi_verdict_fini(&replacement->verdict);
    berth_closure_fini(&replacement->closure);
    berth_mpi_objects_fini(&replacement->staged);
    berth_manifest_fini(&replacement->manifest);
    berth_strvec_fini(&replacement->binds);
    berth_strvec_fini(&replacement->set);
    free(replacement->files);
    free(replacement->mounted);
    free(replacement->host);
    *replacement = (struct berth_replacement){0};
}
