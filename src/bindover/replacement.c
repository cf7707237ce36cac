/* SPDX-License-Identifier: Apache-2.0 */
/* Judges whether one stage of the host's libraries can replace an image's, and plans
 * the mounts. */

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
#include "bindover/kind.h"
#include "request/path.h"

bool berth_replacement_replaces(const struct berth_replacement *replacement,
                                const char *soname)
{
    if (berth_replacement_is_mpi(replacement))
        return false;
    return berth_text_is_any(soname, berth_stack_replaces(replacement->stack));
}

bool berth_replacement_is_staged(const struct berth_replacement *replacement,
                                 const char *path)
{
    return berth_text_starts(path, replacement->mounted);
}

const char *berth_replacement_name(const struct berth_replacement *replacement)
{
    return berth_replacement_is_mpi(replacement) ? "MPI" : replacement->stack->version;
}

const char *berth_replacement_advice(const struct berth_replacement *replacement)
{
    return berth_kind_of(replacement->stack->profile)->advice;
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

/* The directory of glibc in a stage (bindover/manifest.h). */
#define GLIBC "glibc/"

/* Plan FILE of the stage, of glibc, over that beside LIBC of the image, or over LOADER.
 * Returns 0, or -1 out of memory. */
static int plan_glibc_file(struct berth_replacement *replacement, const char *file,
                           const char *libc, const char *loader)
{
    const char *name = file + strlen(GLIBC);
    BERTH_FREE char *staged = NULL;
    BERTH_FREE char *image = berth_path_beside(libc, name);
    BERTH_FREE char *real = NULL;

    if (!image || asprintf(&staged, "%s/%s", replacement->mounted, file) < 0)
        return -1;
    if (berth_text_starts(name, "ld-linux"))
        real = strdup(loader);
    else
        real = berth_resolve(image);
    if (real) /* else the image has no such file */
        berth_strvec_push_pair(&replacement->binds, staged, real);
    return 0;
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
    BERTH_FREE char *loader = NULL;

    if (!libc)
        return berth_err_file(err, "libc.so.6", "read");
    if (scan->loader)
        loader = berth_resolve(scan->loader);
    if (!loader)
        return berth_err_file(err, scan->loader, "read");

    for (size_t i = 0; i < files->count; i += BERTH_MANIFEST_FILE) {
        const char *file = files->items[i];

        if (berth_text_starts(file, GLIBC) &&
            plan_glibc_file(replacement, file, libc->path, loader) < 0)
            return berth_err_oom(err);
    }
    return 0;
}

/* Let the program find the staged library by LD_LIBRARY_PATH: the image has no file
 * over which the library could be mounted. */
static void plan_path(struct berth_replacement *replacement, char *const *env)
{
    BERTH_BUF struct berth_buf text = {0};

    berth_buf_addf(&text, "LD_LIBRARY_PATH=%s/mpi", replacement->mounted);
    berth_buf_part(&text, ":", berth_environ_value(env, "LD_LIBRARY_PATH"), "");
    if (text.failed)
        replacement->set.failed = true;
    else
        berth_strvec_push(&replacement->set, text.text);
}

/* Does the host's library of CHOICE, which it is to be, also replace the image's where
 * that is loaded by its path? */
static bool is_mounted(const struct berth_replacement *replacement,
                       const struct berth_mpi_choice *choice)
{
    if (!choice->image_serves)
        return true;
    if (berth_replacement_is_mpi(replacement))
        return false;
    return choice->is_network ||
           berth_replacement_replaces(replacement, choice->host->soname);
}

/* Plan which copy the process gets of each library that both sides have, whichever file
 * loads it first; beside an MPI, of GCC's libraries alone. */
static void plan_choices(struct berth_replacement *replacement)
{
    for (size_t i = 0; i < replacement->verdict.choices.count; i++) {
        const struct berth_mpi_choice *choice = &replacement->verdict.choices.items[i];
        bool is_gcc = berth_profile_is_gcc(choice->host->soname);

        if (berth_replacement_is_mpi(replacement) && !is_gcc)
            continue;
        if (!choice->from_host)
            berth_strvec_push_pair(&replacement->binds, choice->image->path,
                                   choice->host->path);
        else if (is_mounted(replacement, choice))
            berth_strvec_push_pair(&replacement->binds, choice->host->path,
                                   choice->image->path);
    }
}

/* The staged file that can replace LIBRARY of the image; NULL: none can. */
static const struct berth_mpi_object *find_twin(const struct berth_mpi_library *library,
                                                const struct berth_mpi_objects *staged)
{
    const struct berth_mpi_object *best = NULL;
    int fewest = 0; /* parts of BEST */

    for (size_t i = 0; i < staged->count; i++) {
        const struct berth_mpi_library *other = &staged->items[i].library;
        unsigned int lacking = library->parts & ~other->parts;
        int parts = __builtin_popcount(other->parts);

        if (other->family != library->family || lacking)
            continue;
        if (best && parts >= fewest)
            continue;
        best = &staged->items[i];
        fewest = parts;
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
    if (binds->failed)
        return berth_err_oom(err);
    return 0;
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

    if (staged)
        return strdup(staged->path);
    if (!berth_kind_of(replacement->stack->profile)->by_link)
        return strdup("");
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

    const struct berth_strvec *places = &replacement->users.places;

    for (size_t i = 0; i < places->count; i += 2) {
        const char *image = places->items[i + 1];
        BERTH_FREE char *staged = find_staged(replacement, places->items[i]);

        if (!staged)
            return berth_err_oom(err);
        if (!*staged)
            return berth_err_set(err, "the image has '%s', and the host does not",
                                 image);
        if (!berth_strvec_has(binds, image))
            berth_strvec_push_pair(binds, staged, image);
    }
    if (binds->failed)
        return berth_err_oom(err);
    return 0;
}

/* Plan the directory of the host's plugins of OPENER over REAL, the image's. */
static int plan_directory(struct berth_replacement *replacement,
                          const struct berth_opener *opener, const char *real,
                          struct berth_err *err)
{
    BERTH_FREE char *staged = NULL;

    if (asprintf(&staged, "%s/%s", replacement->mounted, opener->into) < 0)
        return berth_err_oom(err);
    if (access(staged, F_OK) < 0)
        return berth_err_set(err,
                             "the host's %s has no plugins, and would load those of "
                             "the image in '%s'",
                             replacement->stack->version, real);
    berth_strvec_push_pair(&replacement->binds, staged, real);
    return 0;
}

/* A library that replaces the image's looks for plugins beside itself first, and would
 * load those of the image: the directory of the host's goes over theirs. */
static int plan_plugins(struct berth_replacement *replacement, const char *library,
                        const struct berth_opener *opener, struct berth_err *err)
{
    for (const char *const *place = opener->places; *place; place++) {
        BERTH_FREE char *image = berth_path_beside(library, *place);
        BERTH_FREE char *real = NULL;

        if (!image)
            return berth_err_oom(err);
        real = berth_resolve(image);
        if (real && plan_directory(replacement, opener, real, err) < 0)
            return -1;
    }
    return 0;
}

/* Does the library at PATH look for the plugins of OPENER beside itself first? */
static bool looks_beside(const char *path, const struct berth_opener *opener)
{
    return opener->is_first && berth_profile_is(berth_text_base(path), opener->library);
}

static int plan_all_plugins(struct berth_replacement *replacement,
                            struct berth_err *err)
{
    const struct berth_strvec *binds = &replacement->binds;
    size_t files = binds->count;

    for (size_t i = 0; i < files; i += 2) {
        if (berth_replacement_is_staged(replacement, binds->items[i + 1]))
            continue;
        for (const struct berth_opener *it = berth_openers; it->library; it++)
            if (looks_beside(binds->items[i], it) &&
                plan_plugins(replacement, binds->items[i + 1], it, err) < 0)
                return -1;
    }
    return 0;
}

/* Judge whether the staged libraries can be in the process of PROGRAM. */
static int judge(struct berth_replacement *replacement,
                 const struct berth_mpi_program *program, const struct berth_scan *scan,
                 struct berth_err *err)
{
    struct berth_mpi_verdict *verdict = &replacement->verdict;
    int result;

    if (berth_replacement_is_mpi(replacement))
        result = berth_mpi_judge(program, &scan->objects, &replacement->staged, verdict,
                                 err);
    else
        result =
            berth_mpi_judge_fabric(berth_replacement_name(replacement), &scan->objects,
                                   &replacement->staged, verdict, err);
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
        if (berth_replacement_replaces(replacement, scan->closure.items[i].soname))
            return true;
    return false;
}

/* Plan an MPI over the libraries of its family. */
static int plan_mpi(struct berth_replacement *replacement,
                    const struct berth_mpi_program *program,
                    const struct berth_scan *scan, char *const *env,
                    struct berth_err *err)
{
    if (berth_replacement_pair(&scan->objects, &replacement->staged,
                               replacement->family, &replacement->binds, err) < 0)
        return -1;
    if (replacement->binds.count == 0)
        plan_path(replacement, env);
    /* A program that is linked with an MPI was judged with the libraries that it loads.
     */
    if (program->family == BERTH_FAMILY_NONE)
        plan_choices(replacement);
    return 0;
}

/* Plan libraries over those of their SONAMEs, wherever users have these. */
static int plan_sonames(struct berth_replacement *replacement, char *const *env,
                        struct berth_err *err)
{
    const struct berth_profile *profile = replacement->stack->profile;

    if (profile->adds && berth_kind_of(profile)->by_path)
        plan_path(replacement, env);
    plan_choices(replacement);
    if (plan_places(replacement, err) < 0)
        return -1;
    return plan_all_plugins(replacement, err);
}

int berth_replacement_plan(struct berth_replacement *replacement,
                           const struct berth_mpi_program *program,
                           const struct berth_scan *scan, char *const *env,
                           struct berth_err *err)
{
    int result;

    replacement->is_linked = is_linked(replacement, program, scan);
    if (judge(replacement, program, scan, err) < 0)
        return -1;

    if (berth_replacement_is_mpi(replacement))
        result = plan_mpi(replacement, program, scan, env, err);
    else
        result = plan_sonames(replacement, env, err);
    if (result < 0)
        return -1;
    if (replacement->verdict.answer == BERTH_VERDICT_YES_WITH_HOST_GLIBC &&
        plan_glibc(replacement, scan, err) < 0)
        return -1;
    if (replacement->binds.failed || replacement->set.failed)
        return berth_err_oom(err);
    return 0;
}

const struct berth_mpi_object *
berth_replacement_staged(const struct berth_replacement *replacement, const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return NULL;
    for (size_t i = 0; i < replacement->staged.count; i++) {
        const struct stat *staged = &replacement->files[i];

        if (staged->st_dev == st.st_dev && staged->st_ino == st.st_ino)
            return &replacement->staged.items[i];
    }
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
