/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the images of a cache or store by the names of their files, and removes them.
 * Works below descriptors: a directory of the user's that nobody else can write cannot
 * be exchanged between a look and a removal. */

#include "image/collection.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/tree.h"
#include "image/cache.h"
#include "image/store.h"

#define DIGEST_MARK "@sha256-"
#define SUFFIX      ".sif"

/* Fewer digits of a digest than these may mean several images. */
enum { FEWEST_DIGITS = 8 };

/* Whose files count: those of a user, or of anybody. */
struct owner {
    bool is_anybody;
    uid_t uid;
};

static bool is_owned(const struct stat *st, const struct owner *owner)
{
    return owner->is_anybody || st->st_uid == owner->uid;
}

static void free_image(struct berth_collected *image)
{
    free(image->file);
    free(image->uri);
    free(image->machine);
    berth_strvec_fini(&image->links);
}

/* Split NAME, that of a file, as image/store.c made it. Returns false if berth gives no
 * such name. On success the caller frees the texts of RET. */
static bool split(const char *name, struct berth_collected *ret)
{
    enum { DIGITS = 64 };
    const char *mark = strstr(name, DIGEST_MARK);
    BERTH_FREE char *without_digest = NULL;
    const char *digest, *machine;
    size_t length;

    if (!mark || mark == name)
        return false;
    digest = mark + strlen(DIGEST_MARK);
    if (strspn(digest, "0123456789abcdef") != DIGITS || digest[DIGITS] != '-')
        return false;
    machine = digest + DIGITS + strlen("-");
    length = strspn(machine, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (length == 0 || strcmp(machine + length, SUFFIX) != 0)
        return false;

    memcpy(ret->digest, digest, DIGITS);
    ret->digest[DIGITS] = '\0';
    ret->file = strdup(name);
    ret->machine = strndup(machine, length);
    without_digest = strndup(name, (size_t)(mark - name));
    if (without_digest)
        ret->uri = berth_uri_of_name(without_digest);
    if (!ret->uri || berth_uri_check(ret->uri, NULL) == 0)
        return true; /* the caller sees what is missing */
    free_image(ret);
    return false;
}

/* Append the file NAME of the directory, if it is an image. */
static int add_image(struct berth_collection *collection, const char *name,
                     const struct owner *owner, struct berth_err *err)
{
    struct berth_collected image = {0};
    struct berth_collected *items;
    struct stat st;

    if (fstatat(collection->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (!S_ISREG(st.st_mode) || !is_owned(&st, owner))
        return 0;
    if (!split(name, &image))
        return 0;
    image.bytes = (long long)st.st_size;
    image.pulled = st.st_mtime;
    image.used = st.st_atime;

    items = reallocarray(collection->items, collection->count + 1, sizeof(*items));
    if (items)
        collection->items = items;
    if (!items || !image.file || !image.uri || !image.machine) {
        free_image(&image);
        return berth_err_oom(err);
    }
    items[collection->count++] = image;
    return 0;
}

/* Could berth have called a link NAME? */
static bool is_link_name(const char *name)
{
    BERTH_FREE char *uri = berth_collection_uri(name);

    return strrchr(name, '-') && uri && berth_uri_check(uri, NULL) == 0;
}

/* The image to which the link NAME of the index leads; NULL: to none, or it is not a
 * link of berth's. */
static struct berth_collected *find_target(const struct berth_collection *collection,
                                           const char *name, const struct owner *owner)
{
    char target[NAME_MAX + sizeof("../")];
    struct stat st;
    ssize_t length;

    if (fstatat(collection->index, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return NULL;
    if (!S_ISLNK(st.st_mode) || !is_owned(&st, owner))
        return NULL;
    if (!is_link_name(name))
        return NULL;
    length = readlinkat(collection->index, name, target, sizeof(target) - 1);
    if (length < 0)
        return NULL;
    target[length] = '\0';
    if (!berth_text_starts(target, "../"))
        return NULL;
    for (size_t i = 0; i < collection->count; i++)
        if (strcmp(collection->items[i].file, target + strlen("../")) == 0)
            return &collection->items[i];
    return NULL;
}

static int by_use(const void *one, const void *other)
{
    const struct berth_collected *first = one;
    const struct berth_collected *second = other;

    /* the last used first */
    if (first->used < second->used)
        return 1;
    if (first->used > second->used)
        return -1;
    return strcmp(first->file, second->file);
}

static int by_name(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

static int read_images(struct berth_collection *collection, const char *path,
                       const struct owner *owner, struct berth_err *err)
{
    DIR *list = berth_tree_list(collection->dir, ".");
    const struct dirent *entry;
    int result = 0;

    if (!list)
        return berth_err_file(err, path, "read");
    entry = readdir(list);
    while (entry && result == 0) {
        result = add_image(collection, entry->d_name, owner, err);
        entry = readdir(list);
    }
    closedir(list);
    if (collection->count > 0)
        qsort(collection->items, collection->count, sizeof(*collection->items), by_use);
    return result;
}

/* Note at each image which links of LIST, the index, lead to it. */
static void read_links(struct berth_collection *collection, DIR *list,
                       const struct owner *owner)
{
    const struct dirent *entry = readdir(list);

    for (; entry; entry = readdir(list)) {
        struct berth_collected *image = find_target(collection, entry->d_name, owner);

        if (image)
            berth_strvec_push(&image->links, entry->d_name);
    }
}

static int sort_links(struct berth_collection *collection, struct berth_err *err)
{
    for (size_t i = 0; i < collection->count; i++) {
        struct berth_strvec *links = &collection->items[i].links;

        if (links->failed)
            return berth_err_oom(err);
        if (links->count > 0)
            qsort(links->items, links->count, sizeof(*links->items), by_name);
    }
    return 0;
}

static int read_index(struct berth_collection *collection, const char *path,
                      const struct owner *owner, struct berth_err *err)
{
    BERTH_CLOSEDIR DIR *list = berth_tree_list(collection->dir, "index");
    struct stat st;

    if (!list && errno == ENOENT)
        return 0;
    if (!list || fstat(dirfd(list), &st) < 0)
        return berth_err_file(err, path, "read");
    if (is_owned(&st, owner))
        collection->index = fcntl(dirfd(list), F_DUPFD_CLOEXEC, 0);
    if (collection->index < 0)
        return 0;
    read_links(collection, list, owner);
    return sort_links(collection, err);
}

int berth_collection_cache(const char *path, struct berth_collection *ret,
                           struct berth_err *err)
{
    const struct owner user = {.uid = geteuid()};
    int is_missing = 0;

    ret->dir = berth_cache_directory(path, &is_missing, err);
    if (ret->dir < 0 && is_missing)
        return 0;
    if (ret->dir < 0)
        return -1;
    if (read_images(ret, path, &user, err) < 0)
        return -1;
    return read_index(ret, path, &user, err);
}

int berth_collection_store(const char *path, struct berth_collection *ret,
                           struct berth_err *err)
{
    const struct owner anybody = {.is_anybody = true};

    if (!path)
        return 0;
    ret->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret->dir < 0 && errno == ENOENT)
        return 0;
    if (ret->dir < 0)
        return berth_err_file(err, path, "read");
    if (read_images(ret, path, &anybody, err) < 0)
        return -1;
    return read_index(ret, path, &anybody, err);
}

char *berth_collection_uri(const char *link)
{
    BERTH_FREE char *name = strdup(link);
    char *dash;

    if (!name)
        return NULL;
    dash = strrchr(name, '-'); /* before the machine */
    if (dash)
        *dash = '\0';
    return berth_uri_of_name(name);
}

/* Is NAME the digest of IMAGE, or its first digits, as `berth images` prints them? */
static bool is_digest(const struct berth_collected *image, const char *name)
{
    size_t length;

    if (berth_text_starts(name, "sha256:"))
        name += strlen("sha256:");
    length = strlen(name);
    return length >= FEWEST_DIGITS && strncmp(image->digest, name, length) == 0;
}

/* The start of the links of the URI NAME; NULL: NAME is not one. The caller frees it.
 */
static char *link_of(const char *name)
{
    BERTH_FREE char *plain = berth_registry_plain(name);
    BERTH_FREE char *uri = NULL;
    const char *scheme = "docker://";
    char *link;

    if (!plain)
        return NULL;
    if (berth_uri_is(plain))
        scheme = "";
    if (asprintf(&uri, "%s%s", scheme, plain) < 0) {
        uri = NULL;
        return NULL;
    }
    if (berth_uri_name(uri, &link, NULL) < 0)
        return NULL;
    return link;
}

/* Is LINK, a name in the index, that of the URI NAME for some machine? */
static bool is_link_of(const char *link, const char *name)
{
    BERTH_FREE char *wanted = link_of(name);
    const char *machine = strrchr(link, '-');

    if (!wanted || !machine)
        return false;
    /* all of the link before its machine */
    return berth_text_starts(link, wanted) && link + strlen(wanted) == machine;
}

/* Does NAME mean the file of IMAGE, whatever leads to it? */
static bool is_file(const struct berth_collected *image, const char *name)
{
    return strcmp(berth_text_base(name), image->file) == 0 || is_digest(image, name);
}

bool berth_collection_means(const struct berth_collected *image, const char *name)
{
    if (is_file(image, name))
        return true;
    for (size_t i = 0; i < image->links.count; i++)
        if (is_link_of(image->links.items[i], name))
            return true;
    return false;
}

/* Is LINK of IMAGE to go with NAMES? */
static bool is_to_go(const struct berth_collected *image, const char *link,
                     char *const *names)
{
    if (!*names)
        return true;
    for (; *names; names++)
        if (is_file(image, *names) || is_link_of(link, *names))
            return true;
    return false;
}

static int unlink_one(int dir, const char *name, struct berth_err *err)
{
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return 0;
    return berth_err_file(err, name, "removed");
}

int berth_collection_remove(const struct berth_collection *collection,
                            const struct berth_collected *image, char *const *names,
                            bool *ret_stays, struct berth_err *err)
{
    BERTH_FREE char *sum = NULL;

    *ret_stays = false;
    for (size_t i = 0; i < image->links.count; i++) {
        const char *link = image->links.items[i];

        if (!is_to_go(image, link, names))
            *ret_stays = true;
        else if (unlink_one(collection->index, link, err) < 0)
            return -1;
    }
    if (*ret_stays)
        return 0;
    if (asprintf(&sum, BERTH_STORE_SUMS "/%s", image->file) < 0) {
        sum = NULL;
        return berth_err_oom(err);
    }
    if (unlink_one(collection->dir, sum, err) < 0)
        return -1;
    return unlink_one(collection->dir, image->file, err);
}

void berth_collection_fini(struct berth_collection *collection)
{
    for (size_t i = 0; i < collection->count; i++)
        free_image(&collection->items[i]);
    free(collection->items);
    if (collection->dir >= 0)
        close(collection->dir);
    if (collection->index >= 0)
        close(collection->index);
    *collection = (struct berth_collection)BERTH_COLLECTION_NONE;
}
