/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the real path and the owner of images and of sources of mounts, by which a site
 * allows them. Inspects open files: a name may lead to another file at any time. */

#include "image/allowed.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "request/mount.h"
#include "request/path.h"
#include "image/image.h"
#include "base/fileid.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546 /* linux/magic.h, from Linux 5.17 on */
#endif

bool berth_allowed_is_restricted(const struct berth_site *site)
{
    return site->images.roots.count || site->images.owners.count ||
           site->images.signatures.count;
}

/* The real path of the open file FD; NULL with errno. The caller frees it. */
static char *path_of(int fd)
{
    char name[64];

    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    return realpath(name, NULL);
}

/* Is FILE at PATH? */
static bool is_file(const char *path, const struct stat *file)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return false;
    return st.st_dev == file->st_dev && st.st_ino == file->st_ino;
}

static bool is_in_roots(const struct berth_strvec *roots, const char *real)
{
    for (size_t i = 0; i < roots->count; i++) {
        BERTH_FREE char *root = realpath(roots->items[i], NULL);

        if (root && strcmp(root, real) != 0 && berth_path_is_within(real, root))
            return true;
    }
    return false;
}

static int check_roots(const struct berth_site *site, const char *real,
                       struct berth_err *err)
{
    const struct berth_strvec *roots = &site->images.roots;

    if (roots->count == 0 || is_in_roots(roots, real))
        return 0;
    return berth_site_refuse(site, "image", real, roots, "images.roots", err);
}

/* Is NAME, a name or a number, that of USER? */
static bool is_user(const char *name, uid_t user)
{
    const struct passwd *entry = getpwnam(name);
    char number[32];

    snprintf(number, sizeof(number), "%lu", (unsigned long)user);
    return entry ? entry->pw_uid == user : strcmp(name, number) == 0;
}

static int check_owner(const struct berth_site *site, const char *path, uid_t user,
                       struct berth_err *err)
{
    const struct berth_strvec *owners = &site->images.owners;
    BERTH_BUF struct berth_buf text = {0};
    const struct passwd *entry;

    for (size_t i = 0; i < owners->count; i++)
        if (is_user(owners->items[i], user))
            return 0;
    if (owners->count == 0)
        return 0;
    berth_strvec_join(owners, ", ", &text);
    if (text.failed)
        return berth_err_oom(err);
    entry = getpwuid(user);
    berth_err_set(err,
                  "image '%s': it belongs to %s (uid %lu), and this site allows images "
                  "of %s only; take one of theirs",
                  path, entry ? entry->pw_name : "nobody here", (unsigned long)user,
                  text.text);
    return berth_site_cite(site, "images.owners", "", err);
}

bool berth_allowed_read_mounter(const char *line, dev_t device, uid_t *ret_user)
{
    static const char name[] = ",user_id=";
    unsigned int major_number, minor_number;
    const char *options = strrchr(line, ' ');
    const char *user = options ? strstr(options, name) : NULL;

    if (!user || sscanf(line, "%*d %*d %u:%u", &major_number, &minor_number) != 2)
        return false;
    if (makedev(major_number, minor_number) != device)
        return false;
    *ret_user = (uid_t)strtoul(user + strlen(name), NULL, 10);
    return true;
}

/* The user who has mounted the file system of FILE, open at FD: root, unless it is
 * FUSE; -1: not known. */
static uid_t find_mounter(int fd, const struct stat *file)
{
    BERTH_FCLOSE FILE *mounts = NULL;
    BERTH_FREE char *line = NULL;
    struct statfs system;
    size_t room = 0;
    uid_t user;

    if (fstatfs(fd, &system) == 0 && system.f_type != FUSE_SUPER_MAGIC)
        return 0;
    mounts = fopen("/proc/self/mountinfo", "re");
    while (mounts && getline(&line, &room, mounts) > 0)
        if (berth_allowed_read_mounter(line, file->st_dev, &user))
            return user;
    return (uid_t)-1;
}

/* Whoever has mounted a file system decides who owns its files. */
static int check_mounter(const struct berth_site *site, const char *path, int fd,
                         const struct stat *file, struct berth_err *err)
{
    uid_t user = find_mounter(fd, file);

    if (user == 0 || check_owner(site, path, user, err) == 0)
        return 0;
    return berth_err_at(err, "a file system that uid %lu has mounted (FUSE)",
                        (unsigned long)user);
}

/* Refuse PATH, which open(2) refuses with NUMBER; say why, as for a step. */
static int refuse_open(const char *path, int number, struct berth_err *err)
{
    struct berth_image image;

    if (berth_image_probe(path, &image, err) < 0)
        return -1;
    return berth_err_set(err, BERTH_OPENED_FAILED, path, strerror(number));
}

int berth_allowed_image(const struct berth_site *site, const char *path,
                        char **ret_path, char **ret_identity, struct berth_err *err)
{
    BERTH_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
    BERTH_FREE char *real = NULL;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return refuse_open(path, errno, err);
    real = path_of(fd);
    if (!real || !is_file(real, &st))
        return berth_err_set(err, BERTH_OPENED_EXCHANGED, path);
    if (check_roots(site, real, err) < 0 ||
        check_owner(site, path, st.st_uid, err) < 0 ||
        check_mounter(site, path, fd, &st, err) < 0)
        return -1;
    *ret_identity = berth_fileid_identity(&st);
    if (!*ret_identity)
        return berth_err_oom(err);
    *ret_path = berth_steal(&real);
    return 0;
}

/* Does this host have all directories and users of SITE? */
static bool can_check(const struct berth_site *site)
{
    for (size_t i = 0; i < site->images.roots.count; i++)
        if (access(site->images.roots.items[i], F_OK) < 0)
            return false;
    for (size_t i = 0; i < site->images.owners.count; i++) {
        const char *name = site->images.owners.items[i];

        if (name[strspn(name, "0123456789")] && !getpwnam(name))
            return false;
    }
    return true;
}

int berth_allowed_here(const struct berth_site *site, const char *path,
                       struct berth_err *err)
{
    BERTH_FREE char *real = NULL;
    BERTH_FREE char *identity = NULL;

    if (!berth_allowed_is_restricted(site) || !can_check(site))
        return 0;
    return berth_allowed_image(site, path, &real, &identity, err);
}

/* The real path of the source of the mount TEXT; NULL: it does not exist, or the mount
 * has none. The caller frees it. */
static char *find_source(const char *text)
{
    struct berth_mount mount;
    char *real = NULL;

    if (berth_mount_parse(text, NULL, &mount, NULL) < 0)
        return NULL;
    if (berth_mount_has_source(mount.mode))
        real = realpath(mount.source, NULL);
    berth_mount_fini(&mount);
    return real;
}

int berth_allowed_sources(const struct berth_strvec *mounts,
                          struct berth_strvec *sources, struct berth_err *err)
{
    for (size_t i = 0; i < mounts->count; i++) {
        BERTH_FREE char *real = find_source(mounts->items[i]);

        berth_strvec_push(sources, real ? real : "");
    }
    return berth_err_oom_if(sources->failed, err);
}

int berth_allowed_present(const struct berth_strvec *mounts,
                          struct berth_strvec *present, struct berth_err *err)
{
    for (size_t i = 0; i < mounts->count; i++) {
        BERTH_FREE char *real = find_source(mounts->items[i]);

        if (real)
            berth_strvec_push(present, mounts->items[i]);
    }
    return berth_err_oom_if(present->failed, err);
}
