/* SPDX-License-Identifier: Apache-2.0 */
/* One stage of the host's MPI over one family of an image: judged, mounted, verified.
 */

#include "bind/graft.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/text.h"
#include "bind/bindover.h"
#include "stage/loader.h"

static int read_manifest(struct berth_graft *graft, struct berth_err *err)
{
    BERTH_FREE char *path = NULL;
    BERTH_BUF struct berth_buf text = {0};

    if (asprintf(&path, "%s/manifest", graft->mounted) < 0)
        return berth_err_oom(err);
    if (berth_fd_read_path(path, BERTH_MANIFEST_MAX, &text) < 0)
        return berth_err_set(err, "'%s': %s", path, strerror(errno));
    berth_buf_puts(&text, "");
    if (text.failed)
        return berth_err_oom(err);
    if (berth_manifest_read(text.text, &graft->manifest, err) < 0)
        return berth_err_at(err, "'%s'", path);
    return 0;
}

static bool is_library(const struct berth_staged_file *file)
{
    return strcmp(file->soname, "-") != 0;
}

static int read_staged(struct berth_graft *graft, struct berth_err *err)
{
    const struct berth_manifest *manifest = &graft->manifest;

    for (size_t i = 0; i < manifest->file_count; i++) {
        const struct berth_staged_file *file = &manifest->files[i];
        BERTH_FREE char *path = NULL;

        if (!is_library(file))
            continue;
        if (asprintf(&path, "%s/%s", graft->mounted, file->file) < 0)
            return berth_err_oom(err);
        if (berth_look_add(&graft->staged, BERTH_ROLE_LOADED, file->soname, path, err) <
            0)
            return -1;
    }
    graft->files = calloc(graft->staged.count + 1, sizeof(*graft->files));
    if (!graft->files)
        return berth_err_oom(err);
    for (size_t i = 0; i < graft->staged.count; i++) {
        struct stat st;

        if (stat(graft->staged.items[i].path, &st) < 0)
            return berth_err_set(err, "'%s': %s", graft->staged.items[i].path,
                                 strerror(errno));
        graft->files[i] = (struct berth_graft_file){st.st_dev, st.st_ino};
    }
    return 0;
}

int berth_graft_open(const char *mounted, const char *host, struct berth_graft *graft,
                     struct berth_err *err)
{
    graft->mounted = strdup(mounted);
    graft->host = strdup(host);
    if (!graft->mounted || !graft->host)
        return berth_err_oom(err);
    if (read_manifest(graft, err) < 0)
        return -1;
    berth_strvec_append(&graft->set, &graft->manifest.set);
    if (graft->set.failed)
        return berth_err_oom(err);
    return read_staged(graft, err);
}

static void add_pair(struct berth_strvec *pairs, const char *from, const char *over)
{
    berth_strvec_push(pairs, from);
    berth_strvec_push(pairs, over);
}

/* The directory of PATH, with its slash. */
static int directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (int)(slash - path) + 1 : 0;
}

/* All files of the host's glibc over those of the image: they work only together. The
 * loader goes over the image's, by the name that the program has for it. */
static int plan_glibc(struct berth_graft *graft, const struct berth_look *look,
                      struct berth_err *err)
{
    const struct berth_mpi_object *libc =
        berth_mpi_objects_find(&look->objects, "libc.so.6");
    BERTH_FREE char *loader = look->loader ? realpath(look->loader, NULL) : NULL;

    if (!libc || !loader)
        return berth_err_set(err, "the image has no glibc that the host's could "
                                  "replace; choose --mpi-bind=hybrid");
    for (size_t i = 0; i < graft->manifest.file_count; i++) {
        const char *file = graft->manifest.files[i].file;
        BERTH_FREE char *staged = NULL;
        BERTH_FREE char *image = NULL;
        BERTH_FREE char *real = NULL;

        if (!berth_text_starts(file, "glibc/"))
            continue;
        if (asprintf(&staged, "%s/%s", graft->mounted, file) < 0 ||
            asprintf(&image, "%.*s%s", directory_length(libc->path), libc->path,
                     file + 6) < 0)
            return berth_err_oom(err);
        real = berth_text_starts(file + 6, "ld-linux") ? berth_steal(&loader)
                                                       : realpath(image, NULL);
        if (real)
            add_pair(&graft->binds, staged, real);
    }
    return 0;
}

/* A program in a mount, or one whose library the image does not have, has no file to go
 * over: it finds the staged library by LD_LIBRARY_PATH. */
static void plan_path(struct berth_graft *graft, char *const *env)
{
    const char *own = berth_environ_value(env, "LD_LIBRARY_PATH");
    const char *rest = own ? own : "";

    berth_strvec_pushf(&graft->set, "LD_LIBRARY_PATH=%s/mpi%s%s", graft->mounted,
                       *rest ? ":" : "", rest);
}

/* Whatever the program loads first, its process gets the copy that serves both. */
static void plan_twins(struct berth_graft *graft)
{
    for (size_t i = 0; i < graft->verdict.choices.count; i++) {
        const struct berth_mpi_choice *choice = &graft->verdict.choices.items[i];

        if (!berth_profile_is_gcc(choice->host->soname))
            continue;
        if (!choice->from_host)
            add_pair(&graft->out, choice->image->path, choice->host->path);
        else if (!choice->image_serves)
            add_pair(&graft->binds, choice->host->path, choice->image->path);
    }
}

int berth_graft_plan(struct berth_graft *graft, const struct berth_mpi_program *program,
                     const struct berth_look *look, char *const *env,
                     struct berth_err *err)
{
    struct berth_mpi_verdict *verdict = &graft->verdict;

    graft->is_linked = program->family == graft->family;
    if (berth_mpi_judge(program, &look->objects, &graft->staged, verdict, err) < 0)
        return -1;
    if (verdict->answer == BERTH_VERDICT_NO ||
        verdict->answer == BERTH_VERDICT_CANNOT_TELL) {
        *err = verdict->because;
        return -1;
    }
    if (berth_bindover_plan(&look->objects, &graft->staged, graft->family,
                            &graft->binds, err) < 0)
        return -1;
    if (graft->binds.count == 0)
        plan_path(graft, env);
    if (program->family == BERTH_FAMILY_NONE)
        plan_twins(graft);
    if (verdict->answer == BERTH_VERDICT_YES_WITH_HOST_GLIBC &&
        plan_glibc(graft, look, err) < 0)
        return -1;
    return graft->binds.failed || graft->out.failed || graft->set.failed
               ? berth_err_oom(err)
               : 0;
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

int berth_graft_bind(const char *from, const char *over)
{
    if (mount(from, over, NULL, MS_BIND, NULL) == 0)
        return 0;
    return errno == EINVAL ? bind_of_root(from, over) : -1;
}

/* Is PAIR, of two, in LIST? */
static bool has_pair(const struct berth_strvec *list, char *const *pair)
{
    for (size_t i = 0; i + 1 < list->count; i += 2)
        if (strcmp(list->items[i], pair[0]) == 0 &&
            strcmp(list->items[i + 1], pair[1]) == 0)
            return true;
    return false;
}

static void leave_out(struct berth_strvec *pairs, struct berth_strvec *bound)
{
    size_t kept = 0;

    for (size_t i = 0; i + 1 < pairs->count; i += 2) {
        char *pair[] = {pairs->items[i], pairs->items[i + 1]};

        if (has_pair(bound, pair)) {
            free(pair[0]);
            free(pair[1]);
            continue;
        }
        berth_strvec_push(bound, pair[0]);
        berth_strvec_push(bound, pair[1]);
        pairs->items[kept++] = pair[0];
        pairs->items[kept++] = pair[1];
    }
    pairs->count = kept;
    if (pairs->items)
        pairs->items[kept] = NULL;
}

void berth_graft_leave_out(struct berth_graft *graft, struct berth_strvec *bound)
{
    leave_out(&graft->out, bound);
    leave_out(&graft->binds, bound);
}

/* The PAIRS that are not *DONE yet. */
static int mount_pairs(const struct berth_strvec *pairs, size_t *done,
                       struct berth_err *err)
{
    for (; *done < pairs->count; *done += 2) {
        const char *from = pairs->items[*done];
        const char *over = pairs->items[*done + 1];

        if (berth_graft_bind(from, over) < 0)
            return berth_err_set(err, "cannot mount '%s' over '%s': %s", from, over,
                                 strerror(errno));
    }
    return 0;
}

int berth_graft_mount(struct berth_graft *graft, struct berth_err *err)
{
    if (mount_pairs(&graft->out, &graft->out_done, err) < 0)
        return -1;
    return mount_pairs(&graft->binds, &graft->done, err);
}

int berth_graft_set(const struct berth_graft *graft, struct berth_err *err)
{
    for (size_t i = 0; i < graft->set.count; i++) {
        char *copy = strdup(graft->set.items[i]);

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

void berth_graft_undo(struct berth_graft *graft)
{
    undo_pairs(&graft->binds, &graft->done);
    undo_pairs(&graft->out, &graft->out_done);
}

/* Which of the stage's files is PATH? */
static const struct berth_mpi_object *find_staged(const struct berth_graft *graft,
                                                  const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return NULL;
    for (size_t i = 0; i < graft->staged.count; i++)
        if (graft->files[i].device == st.st_dev && graft->files[i].inode == st.st_ino)
            return &graft->staged.items[i];
    return NULL;
}

const char *berth_graft_staged(const struct berth_graft *graft, const char *path)
{
    const struct berth_mpi_object *staged = find_staged(graft, path);

    return staged ? staged->path : NULL;
}

/* The image has one library that the host's MPI brings too, the process can have one
 * copy, and it is to be the host's. */
static const struct berth_mpi_choice *
find_collision(const struct berth_graft *graft, const struct berth_closure_item *item)
{
    for (size_t i = 0; i < graft->verdict.choices.count; i++) {
        const struct berth_mpi_choice *choice = &graft->verdict.choices.items[i];

        if (choice->from_host && strcmp(choice->host->soname, item->soname) == 0)
            return choice;
    }
    return NULL;
}

/* What the loader says now. */
static int list(struct berth_graft *graft, const struct berth_look *look,
                char *const *env, struct berth_err *err)
{
    const struct berth_mpi_object *library =
        berth_mpi_objects_mpi(&graft->staged, graft->family);

    if (!look->loader)
        return berth_err_set(err, "the program has no loader");
    graft->target = graft->is_linked || !library ? look->runner : library->path;
    berth_closure_fini(&graft->closure);
    graft->closure = (struct berth_closure){0};
    return berth_loader_list(look->loader, graft->target, env, &graft->closure, err);
}

/* Put the host's copy over the image's where both are needed. */
static int settle(struct berth_graft *graft, const struct berth_closure *closure,
                  struct berth_err *err)
{
    for (size_t i = 0; i < closure->count; i++) {
        const struct berth_closure_item *item = &closure->items[i];
        const struct berth_mpi_choice *choice = find_collision(graft, item);
        BERTH_FREE char *real = item->path ? realpath(item->path, NULL) : NULL;

        if (choice && real && !find_staged(graft, real))
            add_pair(&graft->binds, choice->host->path, real);
    }
    return graft->binds.failed ? berth_err_oom(err) : berth_graft_mount(graft, err);
}

/* Is SONAME needed and missing without the host's MPI too? */
static bool is_missing_anyway(const struct berth_look *look, const char *soname)
{
    const struct berth_closure_item *item = berth_closure_find(&look->closure, soname);

    return item && !item->path;
}

/* Nothing that the program needs is missing. */
static int check_complete(const struct berth_closure *closure,
                          const struct berth_look *look, struct berth_err *err)
{
    for (size_t i = 0; i < closure->count; i++)
        if (!closure->items[i].path &&
            is_missing_anyway(look, closure->items[i].soname))
            return berth_err_set(err,
                                 "'%s' needs '%s', which is not in the image; install "
                                 "it there, or mount the directory that has it and "
                                 "name that in LD_LIBRARY_PATH (--container-env)",
                                 look->runner, closure->items[i].soname);
        else if (!closure->items[i].path)
            return berth_err_set(
                err,
                "with the host's MPI, '%s' is not found; install it in "
                "the image, or choose --mpi-bind=hybrid",
                closure->items[i].soname);
    if (closure->version_count)
        return berth_err_set(err,
                             "'%s' wants %s of '%s', which is older; choose "
                             "--mpi-bind=hybrid, or a newer image",
                             closure->versions[0].user, closure->versions[0].version,
                             closure->versions[0].file);
    return 0;
}

/* Is ITEM a library of the family in the image, by what it was before the mounts? */
static bool is_of_family(const struct berth_graft *graft, const struct berth_look *look,
                         const char *path)
{
    for (size_t i = 0; i < look->objects.count; i++)
        if (look->objects.items[i].library.family == graft->family &&
            strcmp(look->objects.items[i].path, path) == 0)
            return true;
    return false;
}

/* Every library of the family is a staged one, and there is one. By the file, since the
 * program may want libmpi.so.12 where the host's is libmpich.so.12. */
static int check_family(const struct berth_graft *graft, const struct berth_look *look,
                        const struct berth_closure *closure, struct berth_err *err)
{
    bool found = false;

    for (size_t i = 0; i < closure->count; i++) {
        BERTH_FREE char *real = realpath(closure->items[i].path, NULL);
        const struct berth_mpi_object *staged = real ? find_staged(graft, real) : NULL;

        if (staged)
            found |= staged->library.family == graft->family;
        else if (real && is_of_family(graft, look, real))
            return berth_err_set(err,
                                 "'%s' would run with the image's '%s' and not with "
                                 "the host's MPI; choose --mpi-bind=hybrid",
                                 look->runner, real);
    }
    if (!found && graft->is_linked)
        return berth_err_set(err,
                             "'%s' would run without the host's MPI; choose "
                             "--mpi-bind=hybrid",
                             look->runner);
    return 0;
}

int berth_graft_verify(struct berth_graft *graft, const struct berth_look *look,
                       char *const *env, struct berth_err *err)
{
    size_t mounted = graft->done;

    if (list(graft, look, env, err) < 0 || settle(graft, &graft->closure, err) < 0)
        return -1;
    /* The host's copies bring others. */
    if (graft->done != mounted && list(graft, look, env, err) < 0)
        return -1;
    if (check_complete(&graft->closure, look, err) < 0)
        return -1;
    return check_family(graft, look, &graft->closure, err);
}

void berth_graft_fini(struct berth_graft *graft)
{
    berth_mpi_verdict_fini(&graft->verdict);
    berth_closure_fini(&graft->closure);
    berth_mpi_objects_fini(&graft->staged);
    berth_manifest_fini(&graft->manifest);
    berth_strvec_fini(&graft->binds);
    berth_strvec_fini(&graft->out);
    berth_strvec_fini(&graft->set);
    free(graft->files);
    free(graft->mounted);
    free(graft->host);
    *graft = (struct berth_graft){0};
}
