/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and adds images of a cache or store, whose only data are the names of files. */

#include "image/store.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/run.h"
#include "base/text.h"
#include "request/uri.h"
#include "site/trusted.h"
#include "image/image.h"

#define INDEX "index"

/* The user NAME, or with that number, who may own the store; root: nobody but root. */
static uid_t owner_of(const char *name)
{
    const struct passwd *user;
    size_t digits;

    if (!name)
        return 0;
    user = getpwnam(name);
    if (user)
        return user->pw_uid;
    digits = strspn(name, "0123456789");
    if (digits == 0 || name[digits] != '\0')
        return 0;
    return (uid_t)atol(name);
}

/* Check that only root and images.store_owner can have written the directory PATH. */
static int check(const struct berth_site *site, const char *path, int *ret_missing,
                 struct berth_err *err)
{
    if (berth_trusted_read(path, owner_of(site->images.store_owner), ret_missing, NULL,
                           err) < 0)
        return berth_err_at(err, "images.store");
    return 0;
}

int berth_store_check(const struct berth_site *site, struct berth_err *err)
{
    if (!site->images.store)
        return berth_err_set(err, "this site has no store; set images.store in %s",
                             berth_text_or(site->file, "berth.yaml"));
    return check(site, site->images.store, NULL, err);
}

/* Read the link NAME-MACHINE of the index: *RET_FILE is the image, which may be gone;
 * NULL: there is no link. */
static int read_index(const char *directory, const char *name, const char *machine,
                      char **ret_file, struct berth_err *err)
{
    BERTH_FREE char *link = NULL;
    char target[NAME_MAX + 4];
    ssize_t length;

    *ret_file = NULL;
    if (asprintf(&link, "%s/" INDEX "/%s-%s", directory, name, machine) < 0)
        return berth_err_oom(err);
    length = readlink(link, target, sizeof(target) - 1);
    if (length < 0)
        return 0;
    target[length] = '\0';
    if (asprintf(ret_file, "%s/%s", directory, berth_text_base(target)) < 0) {
        *ret_file = NULL;
        return berth_err_oom(err);
    }
    return 0;
}

/* Find the image of NAME for MACHINE, if it is there and whole. */
static int look_for(const char *directory, const char *name, const char *machine,
                    char **ret_file, struct berth_err *err)
{
    BERTH_FREE char *file = NULL;
    struct berth_image image;

    if (read_index(directory, name, machine, &file, err) < 0)
        return -1;
    if (file && berth_image_probe(file, &image, NULL) == 0)
        *ret_file = berth_steal(&file);
    return 0;
}

int berth_store_look(const char *directory, const char *uri, const char *machine,
                     char **ret_file, struct berth_err *err)
{
    BERTH_FREE char *name = NULL;
    const char *each;

    *ret_file = NULL;
    if (berth_uri_name(uri, &name, err) < 0)
        return -1;
    if (machine)
        return look_for(directory, name, machine, ret_file, err);

    each = berth_image_machines(0);
    for (size_t i = 1; each && !*ret_file; i++) {
        if (look_for(directory, name, each, ret_file, err) < 0)
            return -1;
        each = berth_image_machines(i);
    }
    return 0;
}

int berth_store_find(const struct berth_site *site, const char *uri,
                     const char *machine, char **ret_file, struct berth_err *err)
{
    BERTH_FREE char *index = NULL;
    int missing = 0;

    *ret_file = NULL;
    if (!site->images.store)
        return 0;
    if (asprintf(&index, "%s/" INDEX, site->images.store) < 0)
        return berth_err_oom(err);
    if (check(site, index, &missing, err) < 0) {
        if (missing)
            return 0;
        return -1;
    }
    if (check(site, site->images.store, NULL, err) < 0)
        return -1;
    return berth_store_look(site->images.store, uri, machine, ret_file, err);
}

bool berth_store_split(const struct berth_request *request, char **ret_directory,
                       char machine[BERTH_STORE_MACHINE], char digest[BERTH_URI_DIGEST])
{
    const char *name, *dash;

    if (!request->uri)
        return false;
    name = strrchr(request->image, '/');
    if (!name)
        return false;
    dash = strrchr(name, '-');
    if (!dash || sscanf(dash, "-%31[^.]", machine) != 1)
        return false;
    if (!berth_uri_digest(name, digest))
        return false;
    *ret_directory = strndup(request->image, (size_t)(name - request->image));
    return *ret_directory;
}

bool berth_store_has_moved(const struct berth_request *request, struct berth_err *ret)
{
    BERTH_FREE char *directory = NULL, *name = NULL, *file = NULL;
    char machine[BERTH_STORE_MACHINE], digest[BERTH_URI_DIGEST];

    if (!berth_store_split(request, &directory, machine, digest))
        return false;
    if (berth_uri_name(request->uri, &name, NULL) < 0 ||
        read_index(directory, name, machine, &file, NULL) < 0)
        return false;
    if (!file || strcmp(file, request->image) == 0)
        return false;
    berth_err_set(ret,
                  "image '%s': another image has that name by now; this step keeps "
                  "sha256:%s",
                  request->uri, digest);
    return true;
}

int berth_store_hash(const char *path, char ret[BERTH_URI_DIGEST],
                     struct berth_err *err)
{
    enum { LONGEST = 1 << 20, SECONDS = 3600 };
    const char *const argv[] = {"/usr/bin/sha256sum", path, NULL};
    const struct berth_run hash = {.argv = argv,
                                   .env = argv + 2,
                                   .seconds = SECONDS,
                                   .most = LONGEST,
                                   .gets_signals = true};
    BERTH_BUF struct berth_buf text = {0};
    BERTH_RAN struct berth_ran ran = {0};

    if (berth_run(&hash, &ran, err) < 0)
        return -1;
    berth_buf_addf(&text, "sha256:%s", berth_buf_text(&ran.out));
    if (!text.failed && berth_uri_digest(text.text, ret))
        return 0;
    errno = EIO;
    return berth_err_file(err, path, "read");
}

/* What an image is called, and where. */
struct place {
    char *file;  /* the image */
    char *sum;   /* the link with the digest of its bytes */
    char *index; /* the directory of the links by URI */
    char *entry; /* the link of its URI */
};

static void free_place(struct place *place)
{
    free(place->file);
    free(place->sum);
    free(place->index);
    free(place->entry);
}

#define PLACE __attribute__((cleanup(free_place)))

/* Fill RET for NAME, that of a URI. The file has the name without a version, cut if it
 * is too long: the digest distinguishes images. */
static int find_place(const char *directory, const char *name, const char *digest,
                      const char *machine, struct place *ret, struct berth_err *err)
{
    enum { DIGITS = BERTH_URI_DIGEST - 1 };
    const char *last = strrchr(name, '+');
    size_t length = (size_t)(last - name) + strcspn(last, "=@");
    size_t rest =
        strlen("@sha256-") + DIGITS + strlen("-") + strlen(machine) + strlen(".sif");

    if (length + rest > NAME_MAX)
        length = NAME_MAX - rest;
    if (asprintf(&ret->file, "%s/%.*s@sha256-%s-%s.sif", directory, (int)length, name,
                 digest, machine) < 0) {
        ret->file = NULL;
        return berth_err_oom(err);
    }
    if (asprintf(&ret->sum, "%s/" BERTH_STORE_SUMS "/%s", directory,
                 berth_text_base(ret->file)) < 0) {
        ret->sum = NULL;
        return berth_err_oom(err);
    }
    if (asprintf(&ret->index, "%s/" INDEX, directory) < 0) {
        ret->index = NULL;
        return berth_err_oom(err);
    }
    if (asprintf(&ret->entry, "%s/" INDEX "/%s-%s", directory, name, machine) < 0) {
        ret->entry = NULL;
        return berth_err_oom(err);
    }
    return 0;
}

/* Replace the link at PATH by one with TARGET, so that readers see one or the other.
 * NEW is a free name on the same file system. Returns 0, or -1 with errno. */
static int put_link(const char *path, const char *target, const char *new)
{
    unlink(new);
    if (symlink(target, new) < 0)
        return -1;
    return rename(new, path);
}

/* Is the image at PLACE as it was when it was added? Without a digest of then it is
 * not. */
static bool is_intact(const struct place *place)
{
    char was[BERTH_URI_DIGEST + 1], is[BERTH_URI_DIGEST];
    struct berth_image image;
    ssize_t length;

    if (berth_image_probe(place->file, &image, NULL) < 0)
        return false;
    length = readlink(place->sum, was, sizeof(was) - 1);
    if (length < 0)
        return false;
    was[length] = '\0';
    return berth_store_hash(place->file, is, NULL) == 0 && strcmp(was, is) == 0;
}

/* Give PART the name of the image. One that is there stays if it is intact, because
 * jobs may have it open, also on other hosts (NFS). Returns 0, or -1 with errno. */
static int put_file(const struct place *place, const char *part,
                    const char *file_digest, const char *new)
{
    if (link(part, place->file) < 0) {
        if (is_intact(place))
            return 0;
        if (rename(part, place->file) < 0)
            return -1;
    }
    return put_link(place->sum, file_digest, new);
}

/* Make the directory PATH, which all users may read whatever the umask. Returns 0, or
 * -1 with errno. */
static int make_readable(const char *path)
{
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return -1;
    return chmod(path, 0755);
}

/* Returns 0, or -1 with errno. */
static int add(const char *directory, const struct place *place, const char *part,
               const char *file_digest, const char *new)
{
    BERTH_FREE char *sums = NULL, *target = NULL;

    if (asprintf(&sums, "%s/" BERTH_STORE_SUMS, directory) < 0 ||
        asprintf(&target, "../%s", berth_text_base(place->file)) < 0)
        return -1;
    if (mkdir(sums, 0700) < 0 && errno != EEXIST)
        return -1;
    if (chmod(part, 0644) < 0)
        return -1;
    if (put_file(place, part, file_digest, new) < 0)
        return -1;
    if (make_readable(place->index) < 0)
        return -1;
    return put_link(place->entry, target, new);
}

int berth_store_add(const char *directory, const char *uri, const char *digest,
                    const char *machine, const char *part, const char *file_digest,
                    char **ret_file, struct berth_err *err)
{
    BERTH_FREE char *name = NULL, *new = NULL;
    PLACE struct place place = {0};
    struct utsname host;

    if (!machine && uname(&host) == 0)
        machine = host.machine;
    if (!machine)
        machine = "unknown";
    if (berth_uri_name(uri, &name, err) < 0 ||
        find_place(directory, name, digest, machine, &place, err) < 0)
        return -1;
    if (asprintf(&new, "%s.link", part) < 0)
        return berth_err_oom(err);
    if (add(directory, &place, part, file_digest, new) < 0)
        return berth_err_set(err, "'%s': %s; the image is not kept", place.file,
                             strerror(errno));
    *ret_file = berth_steal(&place.file);
    return 0;
}
