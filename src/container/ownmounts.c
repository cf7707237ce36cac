/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts and unmounts in a container that has started. */

#include "container/ownmounts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/cleanup.h"
#include "base/run.h"
#include "base/tree.h"
#include "container/join.h"
#include "request/mount.h"

/* Is there something to do for MOUNT when the container has started? */
static bool is_own(const struct berth_mount *mount)
{
    return mount->flags || !berth_mount_has_source(mount->mode);
}

const char *berth_ownmounts_find(const struct berth_strvec *mounts)
{
    for (size_t i = 0; i < mounts->count; i++) {
        BERTH_MOUNT struct berth_mount mount = {0};
        struct berth_err why;

        if (berth_mount_parse(mounts->items[i], NULL, &mount, &why) < 0)
            continue;
        if (is_own(&mount))
            return mounts->items[i];
    }
    return NULL;
}

/* The name of descriptor FD in the working directory (enter_and_do()). */
static const char *name_of(int fd, char *ret, size_t size)
{
    snprintf(ret, size, "%d", fd);
    return ret;
}

/* Take the mount away whose root is PLACE, with all that is mounted below it. Returns
 * 0, or -1 with errno. */
static int detach(const char *place)
{
    BERTH_CLOSE int fd = berth_tree_open_plain(AT_FDCWD, place);
    char name[16];

    if (fd < 0)
        return -1;
    return umount2(name_of(fd, name, sizeof(name)), MNT_DETACH);
}

static int mount_at(const char *place, unsigned long bits, const char *options)
{
    BERTH_CLOSE int fd = berth_tree_open_plain(AT_FDCWD, place);
    char name[16];

    if (fd < 0)
        return -1;
    return mount("tmpfs", name_of(fd, name, sizeof(name)), "tmpfs", bits, options);
}

/* Mount a tmpfs with FLAGS (NULL: none) in place of the small one of the runtime at
 * PLACE. */
static int mount_tmpfs(const char *place, const char *flags, struct berth_err *err)
{
    unsigned long bits = MS_NOSUID | MS_NODEV;
    BERTH_FREE char *copy = strdup(flags ? flags : "");
    BERTH_BUF struct berth_buf options = {0};
    char *rest = copy;

    while (rest) {
        const char *flag = strsep(&rest, "+");

        if (strcmp(flag, "noexec") == 0) {
            bits |= MS_NOEXEC;
            continue;
        }
        if (options.used)
            berth_buf_puts(&options, ",");
        berth_buf_puts(&options, flag);
    }
    if (!copy || options.failed)
        return berth_err_oom(err);
    detach(place);
    if (mount_at(place, bits, options.text) == 0)
        return 0;
    return berth_err_set(err, "a tmpfs cannot be mounted: %s; check its options",
                         strerror(errno));
}

static int take_away(const char *place, struct berth_err *err)
{
    if (detach(place) == 0)
        return 0;
    if (errno == EINVAL)
        return berth_err_set(err, "nothing is mounted there by itself; leave it out");
    return berth_err_set(err, "%s; leave it out", strerror(errno));
}

/* Set the propagation of the mount at PLACE (mount_namespaces(7)) by FLAGS, or of all
 * below it, too. */
static int set_propagation(const char *place, const char *flags, struct berth_err *err)
{
    unsigned long bits = MS_UNBINDABLE;

    if (strstr(flags, "runbindable"))
        bits |= MS_REC;
    if (mount(NULL, place, NULL, bits, NULL) == 0)
        return 0;
    return berth_err_set(err, "'%s': %s; leave it out", flags, strerror(errno));
}

/* Is the place of MOUNT, in this container, where its path says? Behind a symbolic link
 * of the image may be what the site mounts, whose rules see paths only. One that comes
 * later berth_tree_open_plain() does not follow. */
static int check_place(const struct berth_mount *mount, struct berth_err *err)
{
    BERTH_FREE char *real = NULL;

    if (berth_mount_has_source(mount->mode))
        return 0;
    real = realpath(mount->destination, NULL);
    if (!real || strcmp(real, mount->destination) == 0)
        return 0;
    return berth_err_set(err, "a symbolic link of the image leads to '%s'; write that",
                         real);
}

static int do_one(const struct berth_mount *mount, struct berth_err *err)
{
    if (check_place(mount, err) < 0)
        return -1;
    switch (mount->mode) {
    case BERTH_MOUNT_TMPFS:
        return mount_tmpfs(mount->destination, mount->flags, err);
    case BERTH_MOUNT_UMOUNT:
        return take_away(mount->destination, err);
    default:
        return set_propagation(mount->destination, mount->flags, err);
    }
}

static int do_all(const struct berth_strvec *mounts, struct berth_err *err)
{
    for (size_t i = 0; i < mounts->count; i++) {
        BERTH_MOUNT struct berth_mount mount = {0};

        if (berth_mount_parse(mounts->items[i], NULL, &mount, err) < 0)
            return -1;
        if (is_own(&mount) && do_one(&mount, err) < 0)
            return berth_err_at(err, "--container-mounts: '%s'", mounts->items[i]);
    }
    return 0;
}

struct wanted {
    struct berth_holder holder;
    const struct berth_strvec *mounts;
};

/* In a child: do what DATA, a struct wanted, asks for, and send the sentence if that
 * fails over CHANNEL. */
static int enter_and_do(int channel, void *data)
{
    const struct wanted *wanted = data;
    BERTH_CLOSE int descriptors = open("/proc/self/fd", O_PATH | O_CLOEXEC);
    struct berth_err err;

    /* The container may have another /proc, or none. */
    if (berth_join_owner(wanted->holder, &err) == 0) {
        if (fchdir(descriptors) < 0)
            berth_err_spent(&err, errno);
        else if (do_all(wanted->mounts, &err) == 0)
            return EXIT_SUCCESS;
    }
    send(channel, err.text, strlen(err.text), MSG_NOSIGNAL);
    return EXIT_FAILURE;
}

int berth_ownmounts_do(struct berth_holder holder, const struct berth_strvec *mounts,
                       struct berth_err *err)
{
    struct wanted wanted = {holder, mounts};
    char text[sizeof(err->text)];
    BERTH_CLOSE int channel = -1;
    ssize_t count;
    pid_t child;

    if (!berth_ownmounts_find(mounts))
        return 0;
    child = berth_child_with_channel(enter_and_do, &wanted, SIGKILL, &channel);
    if (child < 0)
        return berth_err_spent(err, errno);
    count = recv(channel, text, sizeof(text) - 1, 0);
    if (berth_run_wait(child) == 0)
        return 0;
    if (count <= 0)
        return berth_err_set(err, BERTH_JOIN_DEAD);
    text[count] = '\0';
    return berth_err_set(err, "%s", text);
}
