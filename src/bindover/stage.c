/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and makes stages. bindover/stagefiles.c decides which files belong to a stage.
 */

#include "bindover/stage.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "bindover/build.h"
#include "bindover/stagefiles.h"
#include "base/tree.h"

#define MANIFEST "manifest"

/* Is the file SOURCE the one that had IDENTITY, or still missing? */
static bool is_unchanged(const char *source, const char *identity)
{
    struct stat st;

    if (stat(source, &st) < 0)
        return berth_manifest_is_same(NULL, identity);
    return berth_manifest_is_same(&st, identity);
}

/* Are the files of the host those of which the stage has copies? */
static bool is_current(const struct berth_manifest *manifest)
{
    char *const *sources = manifest->sources.items;

    for (size_t i = 0; i < manifest->sources.count; i += 2)
        if (!is_unchanged(sources[i], sources[i + 1]))
            return false;
    return manifest->sources.count > 0;
}

static bool has_file(int dir, const char *file, const char *size)
{
    struct stat st;

    if (fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    return S_ISREG(st.st_mode) && st.st_size == atoll(size);
}

static bool has_link(int dir, const char *file)
{
    struct stat st;

    return fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

/* Are all files there? A cleaner of /tmp may have removed some. */
static bool is_whole(int dir, const struct berth_manifest *manifest)
{
    char *const *files = manifest->files.items;
    char *const *links = manifest->links.items;

    for (size_t i = 0; i < manifest->files.count; i += BERTH_MANIFEST_FILE)
        if (!has_file(dir, files[i], files[i + 2]))
            return false;
    for (size_t i = 0; i < manifest->links.count; i += 2)
        if (!has_link(dir, links[i]))
            return false;
    return true;
}

/* Does the stage have all libraries of STACK, or links of their names? One may have
 * been installed later. */
static bool has_all(const struct berth_manifest *manifest,
                    const struct berth_stack *stack)
{
    for (size_t i = 0; i < stack->count; i++) {
        BERTH_FREE char *file = NULL;

        if (asprintf(&file, "lib/%s", stack->libraries[i].soname) < 0)
            return false;
        if (!berth_strvec_has(&manifest->files, file) &&
            !berth_strvec_has(&manifest->links, file))
            return false;
    }
    return true;
}

static bool is_of(const struct berth_manifest *manifest,
                  const struct berth_stack *stack, const char *mounted)
{
    if (strcmp(manifest->from, stack->libraries[0].path) != 0)
        return false;
    if (strcmp(manifest->profile, berth_profile_label(stack->profile)) != 0)
        return false;
    if (strcmp(manifest->mounted, mounted) != 0)
        return false;
    return has_all(manifest, stack);
}

/* Reads the manifest in the directory open at DIR. False: it is missing or damaged. */
static bool read_manifest(int dir, struct berth_manifest *ret)
{
    BERTH_CLOSE int fd =
        openat(dir, MANIFEST, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    BERTH_BUF struct berth_buf text = {0};

    if (fd < 0)
        return false;
    if (berth_fd_read(fd, BERTH_MANIFEST_MAX, &text) < 0 || !text.text)
        return false;
    return berth_manifest_read(text.text, ret, NULL) == 0;
}

/* Read the stage NAME of the root open at ROOT_FD. Returns whether it is one for STACK,
 * valid now. */
static bool read_stage(int root_fd, const struct berth_stage_root *root,
                       const char *name, const struct berth_stack *stack,
                       struct berth_staged *ret_staged)
{
    struct berth_staged staged = {0};
    const struct berth_manifest *manifest = &staged.manifest;
    BERTH_CLOSE int dir =
        openat(root_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool is_valid;

    if (dir < 0 || !read_manifest(dir, &staged.manifest))
        return false;
    if (asprintf(&staged.path, "%s/%s", root->path, name) < 0)
        staged.path = NULL;
    if (asprintf(&staged.mounted, "%s/%s", root->mounted, name) < 0)
        staged.mounted = NULL;

    is_valid = staged.path && staged.mounted;
    is_valid = is_valid && is_of(manifest, stack, staged.mounted);
    is_valid = is_valid && is_current(manifest) && is_whole(dir, manifest);
    if (is_valid)
        *ret_staged = staged;
    else
        berth_staged_fini(&staged);
    return is_valid;
}

/* Is NAME a stage of STACK by its name, STACK-TIME? */
static bool is_named(const char *name, const struct berth_stack *stack)
{
    size_t length = strlen(stack->profile->stack);

    return strncmp(name, stack->profile->stack, length) == 0 && name[length] == '-';
}

/* Finds the first stage of STACK in the LIST of the entries of ROOT. */
static bool find_in(DIR *list, const struct berth_stack *stack,
                    const struct berth_stage_root *root,
                    struct berth_staged *ret_staged)
{
    for (;;) {
        const struct dirent *entry = readdir(list);

        if (!entry)
            return false;
        if (is_named(entry->d_name, stack) &&
            read_stage(dirfd(list), root, entry->d_name, stack, ret_staged))
            return true;
    }
}

int berth_stage_find(const struct berth_stack *stack,
                     const struct berth_stage_root *root,
                     struct berth_staged *ret_staged, struct berth_err *err)
{
    int missing = 0;
    int fd = berth_tree_open(root->path, root->owner, root->forbidden, &missing, err);
    DIR *list;
    bool is_found;

    if (fd < 0 && missing)
        return 0;
    if (fd < 0)
        return -1;
    list = fdopendir(fd);
    if (!list) {
        close(fd);
        return berth_err_oom(err);
    }
    is_found = find_in(list, stack, root, ret_staged);
    closedir(list);
    return is_found ? 1 : 0;
}

/* Makes and opens the directory UNFINISHED, in place of what a killed maker has left.
 * Returns a descriptor, or -1 with a sentence. */
static int open_unfinished(int root_fd, const struct berth_stage_root *root,
                           const char *unfinished, struct berth_err *err)
{
    int fd;

    berth_tree_remove(root_fd, unfinished);
    if (mkdirat(root_fd, unfinished, 0700) < 0)
        return berth_err_file(err, root->path, "written");
    fd = openat(root_fd, unfinished, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return berth_err_file(err, root->path, "written");
    return fd;
}

/* Give the finished directory FROM its NAME. */
static int publish(int root_fd, const struct berth_stage_root *root, const char *from,
                   const char *name, const struct berth_stack *stack,
                   struct berth_staged *ret_staged, struct berth_err *err)
{
    if (renameat(root_fd, from, root_fd, name) == 0 &&
        read_stage(root_fd, root, name, stack, ret_staged))
        return 0;
    berth_tree_remove(root_fd, name);
    return berth_build_refuse_change(stack->libraries[0].path, err);
}

/* Libraries cannot be loaded from a file system that is mounted noexec. */
static int check_mount(int fd, const struct berth_stage_root *root,
                       struct berth_err *err)
{
    struct statvfs status;

    if (fstatvfs(fd, &status) < 0 || !(status.f_flag & ST_NOEXEC))
        return 0;
    return berth_err_set(err,
                         "'%s': is on a file system that is mounted noexec, where no "
                         "library can be used" BERTH_STAGE_ADVICE,
                         root->path);
}

/* Builds the stage NAME under another name, and publishes it. */
static int build(int root_fd, const struct berth_stage_root *root, const char *name,
                 struct berth_build *b, struct berth_staged *ret_staged)
{
    BERTH_FREE char *mounted = NULL;
    BERTH_FREE char *path = NULL;
    BERTH_FREE char *unfinished = NULL;
    BERTH_CLOSE int dir = -1;
    int result = -1;

    if (asprintf(&unfinished, ".new-%s", b->stack->profile->stack) < 0 ||
        asprintf(&mounted, "%s/%s", root->mounted, name) < 0 ||
        asprintf(&path, "%s/%s", root->path, unfinished) < 0)
        return berth_err_oom(b->err);
    dir = open_unfinished(root_fd, root, unfinished, b->err);
    if (dir < 0)
        return -1;
    b->dir = dir;
    b->path = path;
    b->mounted = mounted;
    if (check_mount(dir, root, b->err) == 0)
        result = berth_build(b);
    if (result == 0 && fchmod(dir, 0755) < 0)
        result = berth_err_file(b->err, path, "written");
    if (result == 0)
        result = publish(root_fd, root, unfinished, name, b->stack, ret_staged, b->err);
    berth_tree_remove(root_fd, unfinished);
    return result;
}

static int make_locked(int fd, const struct berth_stack *stack,
                       const struct berth_stage_root *root, int64_t end,
                       struct berth_staged *ret_staged, struct berth_err *err)
{
    struct berth_gathered gathered = {0};
    struct berth_build b = {
        .stack = stack, .gathered = &gathered, .end = end, .err = err};
    BERTH_FREE char *name = NULL;
    struct timespec now;
    int result;

    clock_gettime(CLOCK_REALTIME, &now);
    if (asprintf(&name, "%s-%llx%08lx", stack->profile->stack,
                 (unsigned long long)now.tv_sec, now.tv_nsec) < 0)
        return berth_err_oom(err);
    if (berth_stagefiles_gather(stack, &gathered, err) < 0)
        return -1;
    result = build(fd, root, name, &b, ret_staged);
    berth_gathered_fini(&gathered);
    return result;
}

/* Waits until no other process makes a stage of STACK in ROOT, open at ROOT_FD, by a
 * lock on a file that only the owner of ROOT can open. Returns its descriptor, or -1
 * with a sentence. */
static int lock_stack(int root_fd, const struct berth_stage_root *root,
                      const struct berth_stack *stack, int64_t end,
                      struct berth_err *err)
{
    static const struct timespec moment = {.tv_nsec = 50000000};
    BERTH_FREE char *name = NULL;
    BERTH_CLOSE int fd = -1;
    int result;

    if (asprintf(&name, ".lock-%s", stack->profile->stack) < 0)
        return berth_err_oom(err);
    fd = openat(root_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return berth_err_file(err, root->path, "written");
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (berth_build_is_late(end))
            return berth_err_set(
                err,
                "'%s': another step still copies the host's MPI "
                "there; submit this one again when that is done" BERTH_STAGE_SLOW,
                root->path);
        nanosleep(&moment, NULL);
    }
    result = fd;
    fd = -1;
    return result;
}

int berth_stage_make(const struct berth_stack *stack,
                     const struct berth_stage_root *root, int64_t end,
                     struct berth_staged *ret_staged, struct berth_err *err)
{
    BERTH_CLOSE int fd = berth_stage_root_open(root, err);
    BERTH_CLOSE int lock = -1;
    int found;

    if (fd < 0)
        return -1;
    lock = lock_stack(fd, root, stack, end, err);
    if (lock < 0)
        return -1;
    /* Another process may have made it meanwhile. */
    found = berth_stage_find(stack, root, ret_staged, err);
    if (found != 0)
        return found < 0 ? -1 : 0;
    return make_locked(fd, stack, root, end, ret_staged, err);
}

int berth_stage_get(const struct berth_stack *stack, int64_t end,
                    struct berth_staged *ret_staged, struct berth_err *err)
{
    char path[BERTH_STAGE_USER_SIZE];
    const struct berth_stage_root site = berth_stage_site();
    const struct berth_stage_root user = berth_stage_user(path);
    int found;

    /* What is wrong with the site's directory is not the user's affair. */
    if (berth_stage_find(stack, &site, ret_staged, NULL) > 0)
        return 0;
    found = berth_stage_find(stack, &user, ret_staged, err);
    if (found < 0)
        return -1;
    if (found > 0)
        return 0;
    return berth_stage_make(stack, &user, end, ret_staged, err);
}

void berth_staged_fini(struct berth_staged *staged)
{
    free(staged->path);
    free(staged->mounted);
    berth_manifest_fini(&staged->manifest);
    *staged = (struct berth_staged){0};
}
