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
#include "base/text.h"
#include "request/uri.h"
#include "site/trusted.h"
#include "image/image.h"

#define INDEX "index"

/* Check that only root and images.store_owner can have written the directory PATH. */
static int check(const struct berth_site *site, const char *path, int *ret_missing,
                 struct berth_err *err)
{
    const char *name = site->images.store_owner;
    const struct passwd *user = name ? getpwnam(name) : NULL;
    uid_t owner = user                                        ? user->pw_uid
                  : name && !name[strspn(name, "0123456789")] ? (uid_t)atol(name)
                                                              : 0;

    return berth_trusted_read(path, owner, ret_missing, NULL, err) < 0
               ? berth_err_at(err, "images.store")
               : 0;
}

int berth_store_check(const struct berth_site *site, struct berth_err *err)
{
    if (!site->images.store)
        return berth_err_set(err, "this site has no store; set images.store in %s",
                             site->file ? site->file : "berth.yaml");
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

int berth_store_look(const char *directory, const char *uri, const char *machine,
                     char **ret_file, struct berth_err *err)
{
    const char *next = machine ? machine : berth_image_machines(0);
    BERTH_FREE char *name = NULL;
    struct berth_image image;
    size_t at = 0;

    *ret_file = NULL;
    if (berth_uri_name(uri, &name, err) < 0)
        return -1;
    while (next) {
        BERTH_FREE char *file = NULL;

        if (read_index(directory, name, next, &file, err) < 0)
            return -1;
        if (file && berth_image_probe(file, &image, NULL) == 0) {
            *ret_file = berth_steal(&file);
            return 0;
        }
        next = machine ? NULL : berth_image_machines(++at);
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
    if (check(site, index, &missing, err) < 0 ||
        check(site, site->images.store, NULL, err) < 0)
        return missing ? 0 : -1;
    return berth_store_look(site->images.store, uri, machine, ret_file, err);
}

/* Split the path of an image of a URI into its directory, machine and digest. Returns
 * false if it is not an image of a cache or store. */
static bool split(const struct berth_request *request, char **ret_directory,
                  char machine[32], char digest[BERTH_URI_DIGEST])
{
    const char *name = request->uri ? strrchr(request->image, '/') : NULL;
    const char *dash = name ? strrchr(name, '-') : NULL;

    if (!dash || sscanf(dash, "-%31[^.]", machine) != 1 ||
        !berth_uri_digest(name, digest))
        return false;
    *ret_directory = strndup(request->image, (size_t)(name - request->image));
    return *ret_directory;
}

bool berth_store_has_moved(const struct berth_request *request, struct berth_err *ret)
{
    BERTH_FREE char *directory = NULL, *name = NULL, *file = NULL;
    char machine[32], digest[BERTH_URI_DIGEST];

    if (!split(request, &directory, machine, digest) ||
        berth_uri_name(request->uri, &name, NULL) < 0 ||
        read_index(directory, name, machine, &file, NULL) < 0 || !file ||
        strcmp(file, request->image) == 0)
        return false;
    berth_err_set(ret,
                  "image '%s': another image has that name by now; this step keeps "
                  "sha256:%s",
                  request->uri, digest);
    return true;
}

int berth_store_fit(struct berth_request *request, struct berth_err *err)
{
    BERTH_FREE char *directory = NULL, *file = NULL;
    struct utsname host;
    char machine[32], digest[BERTH_URI_DIGEST];

    if (!split(request, &directory, machine, digest) || uname(&host) < 0 ||
        strcmp(machine, host.machine) == 0)
        return 0;
    if (berth_store_look(directory, request->uri, host.machine, &file, err) < 0)
        return -1;
    return file ? berth_request_put(request, BERTH_OPTION_IMAGE, file, err) : 0;
}

int berth_store_add(const char *directory, const char *uri, const char *digest,
                    const char *machine, const char *part, char **ret_file,
                    struct berth_err *err)
{
    BERTH_FREE char *name = NULL, *file = NULL, *index = NULL, *entry = NULL;
    BERTH_FREE char *new = NULL, *target = NULL;
    struct berth_image image;
    struct utsname host;
    const char *last;

    if (berth_uri_name(uri, &name, err) < 0)
        return -1;
    if (!machine)
        machine = uname(&host) < 0 ? "unknown" : host.machine;
    last = strrchr(name, '+');
    if (asprintf(&file, "%s/%.*s@sha256-%s-%s.sif", directory,
                 (int)(last - name + (long)strcspn(last, "=@")), name, digest,
                 machine) < 0 ||
        asprintf(&index, "%s/" INDEX, directory) < 0 ||
        asprintf(&entry, "%s/%s-%s", index, name, machine) < 0 ||
        asprintf(&target, "../%s", berth_text_base(file)) < 0 ||
        asprintf(&new, "%s.link", part) < 0)
        return berth_err_oom(err);
    if (chmod(part, 0644) < 0 ||
        (link(part, file) < 0 && berth_image_probe(file, &image, NULL) < 0 &&
         rename(part, file) < 0) ||
        (mkdir(index, 0755) < 0 && errno != EEXIST) || chmod(index, 0755) < 0 ||
        symlink(target, new) < 0 || rename(new, entry) < 0)
        return berth_err_set(err, "'%s': %s; the image is not kept", file,
                             strerror(errno));
    *ret_file = berth_steal(&file);
    return 0;
}
