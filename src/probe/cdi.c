/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the specifications of devices on this host, and which of the files that they
 * name exist. */

#include "probe/cdi.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text.h"
#include "policy/mountrules.h"
#include "probe/trusted.h"
#include "request/mount.h"
#include "request/path.h"

static int is_spec(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && (berth_text_ends(entry->d_name, ".json") ||
                                       berth_text_ends(entry->d_name, ".yaml"));
}

/* Read the specification at PATH; what is wrong with it is a fault of CDI. */
static int read_spec(struct berth_cdi *cdi, const char *path, uid_t owner,
                     struct berth_err *err)
{
    struct berth_cdi_spec spec = {0};
    BERTH_BUF struct berth_buf buf = {0};
    struct berth_err why;
    int missing;
    BERTH_CLOSE int fd = berth_trusted_open(path, owner, &missing, &why);

    if (fd < 0 ||
        berth_trusted_read(fd, path, &berth_syntax_generated, &buf, &why) < 0 ||
        berth_cdi_spec_read(path, buf.text ? buf.text : "", buf.used, &spec, &why) <
            0) {
        berth_strvec_push(&cdi->faults, why.text);
        return cdi->faults.failed ? berth_err_oom(err) : 0;
    }
    if (berth_grow(&cdi->specs, cdi->count, &cdi->room, sizeof(spec)) < 0) {
        berth_cdi_spec_fini(&spec);
        return berth_err_oom(err);
    }
    cdi->specs[cdi->count++] = spec;
    return 0;
}

static int read_directory(struct berth_cdi *cdi, const char *root, const char *name,
                          uid_t owner, struct berth_err *err)
{
    BERTH_FREE char *directory = NULL;
    struct dirent **entries = NULL;
    int count, result = 0;

    if (asprintf(&directory, "%s%s", root, name) < 0) {
        directory = NULL;
        return berth_err_oom(err);
    }
    count = scandir(directory, &entries, is_spec, alphasort);
    if (count < 0 && errno != ENOENT)
        berth_strvec_pushf(&cdi->faults, "%s: %s; all users must be able to read it",
                           directory, strerror(errno));
    for (int i = 0; i < count; i++) {
        BERTH_FREE char *path = NULL;

        if (asprintf(&path, "%s/%s", directory, entries[i]->d_name) < 0)
            path = NULL;
        if (result == 0)
            result = path ? read_spec(cdi, path, owner, err) : berth_err_oom(err);
        free(entries[i]);
    }
    free(entries);
    return result;
}

int berth_cdi_read(const char *root, uid_t owner, struct berth_cdi *ret,
                   struct berth_err *err)
{
    struct berth_cdi cdi = {0};
    int result = read_directory(&cdi, root, "/etc/cdi", owner, err);

    cdi.late = cdi.count;
    if (result == 0)
        result = read_directory(&cdi, root, "/var/run/cdi", owner, err);
    if (result == 0 && cdi.faults.failed)
        result = berth_err_oom(err);
    if (result < 0)
        berth_cdi_fini(&cdi);
    else
        *ret = cdi;
    return result;
}

bool berth_cdi_has_kind(const struct berth_cdi *cdi, const char *kind)
{
    for (size_t i = 0; i < cdi->count; i++)
        if (strcmp(cdi->specs[i].kind, kind) == 0)
            return true;
    return false;
}

void berth_cdi_list(const struct berth_cdi *cdi, const char *kind,
                    struct berth_strvec *ret)
{
    for (size_t i = 0; i < cdi->count; i++) {
        BERTH_STRVEC struct berth_strvec names = {0};

        if (kind && strcmp(cdi->specs[i].kind, kind) != 0)
            continue;
        berth_cdi_spec_names(&cdi->specs[i], &names);
        for (size_t j = 0; j < names.count; j++) {
            BERTH_BUF struct berth_buf name = {0};

            berth_buf_addf(&name, "%s=%s", cdi->specs[i].kind, names.items[j]);
            if (!name.failed)
                berth_strvec_push_once(ret, name.text);
            ret->failed |= name.failed;
        }
        ret->failed |= names.failed;
    }
}

/* Find the device NAME. Returns 0 with *RET_SPEC and *RET_DEVICE, NULL if there is
 * none; or -1 with a sentence in ERR if two files of one directory have it. */
static int find(const struct berth_cdi *cdi, const char *name,
                const struct berth_cdi_spec **ret_spec,
                const struct berth_node **ret_device, struct berth_err *err)
{
    size_t kind = strcspn(name, "=");

    *ret_spec = NULL;
    *ret_device = NULL;
    for (size_t i = cdi->count; i-- > 0;) {
        const struct berth_cdi_spec *spec = &cdi->specs[i];
        const struct berth_node *device =
            strlen(spec->kind) == kind && strncmp(spec->kind, name, kind) == 0
                ? berth_cdi_spec_find(spec, name + kind + 1)
                : NULL;

        if (*ret_device && i + 1 == cdi->late)
            break; /* what follows is in the other directory */
        if (device && *ret_device)
            return berth_err_set(err, "'%s': both '%s' and '%s' have it; remove one",
                                 name, spec->file, (*ret_spec)->file);
        if (device) {
            *ret_spec = spec;
            *ret_device = device;
        }
    }
    return 0;
}

/* Say that no specification has NAME, or none that can be used. Returns -1. */
static int refuse(const struct berth_cdi *cdi, const char *name, struct berth_err *err)
{
    if (cdi->faults.count)
        return berth_err_set(err,
                             "'%s': no specification in /etc/cdi or /var/run/cdi has "
                             "it, and one cannot be used: %s",
                             name, cdi->faults.items[0]);
    return berth_err_set(err,
                         "'%s': no specification in /etc/cdi or /var/run/cdi has it; "
                         "choose one that 'berth doctor' lists on the node",
                         name);
}

/* Append the mounts of FROM whose source exists, of its last device, to EDITS. */
static int add_present(const char *name, enum berth_cdi_need need,
                       const struct berth_cdi_edits *from,
                       struct berth_cdi_edits *edits, struct berth_err *err)
{
    const char *file = from->devices.items[from->devices.count - 1];

    for (size_t i = 0; i < from->mounts.count; i++) {
        const char *mount = from->mounts.items[i];
        BERTH_FREE char *source = strndup(mount, strcspn(mount, ":"));

        if (!source)
            return berth_err_oom(err);
        if (access(source, F_OK) == 0)
            berth_cdi_edits_put(edits, &edits->mounts, mount,
                                berth_cdi_edits_why(from, mount));
        else if (need == BERTH_CDI_REQUIRED)
            return berth_err_set(err,
                                 "'%s': '%s' of %s: %s; write the specification anew "
                                 "on this node",
                                 name, source, file, strerror(errno));
        else
            berth_strvec_pushf(&edits->undone, "the mount of '%s' (%s), %s", source,
                               file, strerror(errno));
    }
    return 0;
}

static void append_once(struct berth_strvec *ret, const struct berth_strvec *from)
{
    for (size_t i = 0; i < from->count; i++)
        berth_strvec_push_once(ret, from->items[i]);
}

static int add(const struct berth_cdi_spec *spec, const struct berth_node *device,
               const char *name, enum berth_cdi_need need,
               struct berth_cdi_edits *edits, struct berth_err *err)
{
    BERTH_CDI_EDITS struct berth_cdi_edits one = {0};

    if (berth_strvec_has(&edits->devices, name))
        return 0;
    berth_strvec_append(&one.devices, &edits->devices);
    if (berth_cdi_spec_edit(spec, device, &one, err) < 0 ||
        add_present(name, need, &one, edits, err) < 0)
        return -1;
    berth_strvec_push(&edits->devices, name);
    berth_strvec_push(&edits->devices, spec->file);
    for (size_t i = 0; i < one.set.count; i++)
        berth_cdi_edits_put(edits, &edits->set, one.set.items[i],
                            berth_cdi_edits_why(&one, one.set.items[i]));
    append_once(&edits->folders, &one.folders);
    append_once(&edits->links, &one.links);
    append_once(&edits->undone, &one.undone);
    return berth_cdi_edits_check(edits, err);
}

int berth_cdi_add(const struct berth_cdi *cdi, const char *name,
                  enum berth_cdi_need need, struct berth_cdi_edits *edits,
                  struct berth_err *err)
{
    const struct berth_cdi_spec *spec;
    const struct berth_node *device;
    struct berth_err why;
    int result = find(cdi, name, &spec, &device, &why);

    if (result == 0 && device)
        result = add(spec, device, name, need, edits, &why);
    else if (result == 0 && (need == BERTH_CDI_REQUIRED || cdi->faults.count))
        result = refuse(cdi, name, &why);
    if (result < 0 && need == BERTH_CDI_REQUIRED) {
        *err = why;
        return -1;
    }
    if (result < 0)
        berth_strvec_pushf(&edits->undone, "device %s", why.text);
    return berth_cdi_edits_check(edits, err);
}

/* Mount the file SOURCE as NAME where the loader finds it; the first one of a name, as
 * in the cache of a loader. */
static void mount_library(struct berth_cdi_edits *edits, const char *source,
                          const char *name, const char *why)
{
    BERTH_BUF struct berth_buf mount = {0};

    berth_buf_addf(&mount, "%s:" BERTH_CDI_LIBRARIES "/%s:ro", source, name);
    if (mount.failed)
        edits->mounts.failed = true;
    else if (!strchr(name, ':') &&
             !berth_mountrules_has_destination(&edits->mounts, mount.text))
        berth_cdi_edits_put(edits, &edits->mounts, mount.text, why);
}

/* Is LINK in DIRECTORY another name of FILE, the library NAME, with the same beginning
 * (libcuda.so)? */
static bool is_name_of(DIR *directory, const char *link, const char *name,
                       const struct stat *file)
{
    const char *suffix = strstr(name, ".so");
    size_t length = suffix ? (size_t)(suffix - name) + strlen(".so") : 0;
    struct stat status;

    return length && strncmp(link, name, length) == 0 &&
           fstatat(dirfd(directory), link, &status, 0) == 0 &&
           status.st_dev == file->st_dev && status.st_ino == file->st_ino;
}

/* Mount the library SOURCE by each name that it has on the host: the link by its
 * SONAME, which ldconfig would make, is beside it there. */
static void mount_names(struct berth_cdi_edits *edits, const char *source,
                        const char *why)
{
    const char *name = berth_text_base(source);
    BERTH_FREE char *place = strndup(source, (size_t)(name - source));
    DIR *directory = place ? opendir(place) : NULL;
    const struct dirent *entry;
    struct stat file;

    edits->mounts.failed |= !place;
    mount_library(edits, source, name, why);
    while (directory && stat(source, &file) == 0 && (entry = readdir(directory)))
        if (is_name_of(directory, entry->d_name, name, &file))
            mount_library(edits, source, entry->d_name, why);
    if (directory)
        closedir(directory);
}

/* Is the file at PATH in one of the folders, not below it? */
static bool is_in_folder(const struct berth_cdi_edits *edits, const char *path)
{
    size_t length = (size_t)(berth_text_base(path) - path);

    for (size_t i = 0; i < edits->folders.count; i++) {
        const char *folder = edits->folders.items[i];
        size_t own = strlen(folder);

        while (own > 1 && folder[own - 1] == '/')
            own--;
        if (own + 1 == length && strncmp(folder, path, own) == 0)
            return true;
    }
    return false;
}

/* The mount of EDITS at PATH, or for a PATH in a folder that of the library with this
 * name in BERTH_CDI_LIBRARIES. Returns its source, which the caller frees; NULL: there
 * is none. *RET_WHY is borrowed from EDITS. */
static char *find_source(const struct berth_cdi_edits *edits, const char *path,
                         const char **ret_why)
{
    bool is_library = is_in_folder(edits, path);

    for (size_t i = 0; i < edits->mounts.count; i++) {
        struct berth_mount mount;
        char *source = NULL;

        if (berth_mount_parse(edits->mounts.items[i], NULL, &mount, NULL) < 0)
            continue;
        if (strcmp(mount.destination, path) == 0 ||
            (is_library &&
             berth_text_starts(mount.destination, BERTH_CDI_LIBRARIES "/") &&
             strcmp(berth_text_base(mount.destination), berth_text_base(path)) == 0))
            source = berth_steal(&mount.source);
        berth_mount_fini(&mount);
        if (source) {
            *ret_why = berth_cdi_edits_why(edits, edits->mounts.items[i]);
            return source;
        }
    }
    return NULL;
}

/* The path in the container to which the link LINK with the text TARGET leads. The
 * caller frees it; NULL: out of memory. */
static char *follow(const char *target, const char *link)
{
    BERTH_FREE char *path = NULL;

    if (*target == '/')
        return berth_path_clean(target);
    if (asprintf(&path, "%.*s%s", (int)(berth_text_base(link) - link), link, target) <
        0) {
        path = NULL;
        return NULL;
    }
    return berth_path_clean(path);
}

/* Has the host the link LINK in /dev? The container has the host's /dev, and
 * nvidia-ctk lists /dev/dri/by-path of each GPU. */
static bool is_in_dev(const char *link)
{
    return berth_text_starts(link, "/dev/") && access(link, F_OK) == 0;
}

/* Mount in the place of a link, TEXT is TARGET::LINK, what the link leads to. */
static void mount_link(struct berth_cdi_edits *edits, const char *text)
{
    const char *colons = strstr(text, "::");
    BERTH_FREE char *target = strndup(text, colons ? (size_t)(colons - text) : 0);
    const char *link = colons ? colons + 2 : "";
    BERTH_FREE char *path = target && *link == '/' ? follow(target, link) : NULL;
    const char *why = NULL;
    BERTH_FREE char *source = path ? find_source(edits, path, &why) : NULL;
    BERTH_BUF struct berth_buf mount = {0};

    if (!source || strchr(link, ':')) {
        if (!is_in_dev(link))
            berth_strvec_pushf(&edits->undone, "the link '%s'", text);
        return;
    }
    if (is_in_folder(edits, link)) {
        mount_library(edits, source, berth_text_base(link), why);
        return;
    }
    berth_buf_addf(&mount, "%s:%s:ro", source, link);
    if (mount.failed)
        edits->mounts.failed = true;
    else if (!berth_mountrules_has_destination(&edits->mounts, mount.text))
        berth_cdi_edits_put(edits, &edits->mounts, mount.text, why);
}

int berth_cdi_link(struct berth_cdi_edits *edits, struct berth_err *err)
{
    size_t count = edits->mounts.count;

    for (size_t i = 0; i < count && edits->folders.count; i++) {
        const char *why = berth_cdi_edits_why(edits, edits->mounts.items[i]);
        struct berth_mount mount;

        if (berth_mount_parse(edits->mounts.items[i], NULL, &mount, err) < 0)
            return -1;
        if (is_in_folder(edits, mount.destination) && strstr(mount.destination, ".so"))
            mount_names(edits, mount.source, why);
        berth_mount_fini(&mount);
    }
    for (size_t i = 0; i < edits->links.count; i++)
        mount_link(edits, edits->links.items[i]);
    return berth_cdi_edits_check(edits, err);
}

void berth_cdi_fini(struct berth_cdi *cdi)
{
    for (size_t i = 0; i < cdi->count; i++)
        berth_cdi_spec_fini(&cdi->specs[i]);
    free(cdi->specs);
    berth_strvec_fini(&cdi->faults);
    *cdi = (struct berth_cdi){0};
}
