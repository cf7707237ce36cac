/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the names of the user and of the groups into a container whose runtime was
 * root. */

#include "container/database.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <pwd.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <signal.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/run.h"
#include "container/join.h"

#define DIRECTORY "/etc"
#define USERS     DIRECTORY "/passwd"
#define GROUPS    DIRECTORY "/group"

/* A larger database stays as it is, and more of a table of mounts is not read. */
enum { LARGEST = 16 << 20 };

FILE *berth_database_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fstat(fd, &st) < 0)
        return NULL;
    if (!S_ISREG(st.st_mode) || st.st_size >= LARGEST)
        return NULL;
    return fdopen(fd, "r");
}

void berth_database_put_user(FILE *from, const struct passwd *user, FILE *to)
{
    const struct passwd *entry;
    bool is_put = false;

    while ((entry = fgetpwent(from))) {
        bool is_user = !is_put && entry->pw_uid == user->pw_uid;

        putpwent(is_user ? user : entry, to);
        is_put |= is_user;
    }
    if (!is_put)
        putpwent(user, to);
}

char *berth_database_home(FILE *from, uid_t uid)
{
    const struct passwd *entry;

    while ((entry = fgetpwent(from))) {
        if (entry->pw_uid != uid)
            continue;
        if (!*entry->pw_dir)
            return NULL;
        return strdup(entry->pw_dir);
    }
    return NULL;
}

/* What the databases get, found on the host. */
struct correction {
    struct passwd user;
    struct berth_buf groups; /* lines */
    struct berth_buf mounts; /* the mountinfo of the host (proc_pid_mountinfo(5)) */
};

static void add_group(gid_t gid, struct correction *it)
{
    const struct group *group = getgrgid(gid);

    if (group)
        berth_buf_addf(&it->groups, "%s:x:%u:%s\n", group->gr_name, (unsigned int)gid,
                       it->user.pw_name);
}

/* Find the groups of this process, and the user's own group if it is not one of them.
 */
static void find_groups(struct correction *it)
{
    int count = getgroups(0, NULL);
    BERTH_FREE gid_t *groups = calloc((size_t)count + 1, sizeof(*groups));
    bool has_own = false;

    if (groups)
        count = getgroups(count, groups);
    else
        count = 0;
    for (int i = 0; i < count; i++) {
        if (groups[i] == it->user.pw_gid)
            has_own = true;
        add_group(groups[i], it);
    }
    if (!has_own)
        add_group(it->user.pw_gid, it);
}

/* Returns false if the host does not know the user, or something is missing. */
static bool find_correction(struct correction *it)
{
    const struct passwd *user = getpwuid(getuid());

    if (!user)
        return false;
    it->user = *user;
    it->user.pw_passwd = (char *)"x";
    find_groups(it);
    if (berth_fd_read_path("/proc/self/mountinfo", LARGEST, &it->mounts) < 0)
        return false;
    if (it->mounts.failed || it->groups.failed)
        return false;
    return it->mounts.used > 0;
}

/* Has the runtime made the file FD of DEVICE, which is mounted over one of the image?
 * The runtime makes it in a tmpfs of its own. A file that a user or the site has
 * mounted is in a file system of the host, which stands in MOUNTS. */
static bool is_made_by_runtime(int fd, dev_t device, const char *mounts)
{
    struct statfs system;
    char text[64];

    if (fstatfs(fd, &system) < 0 || system.f_type != TMPFS_MAGIC)
        return false;
    snprintf(text, sizeof(text), " %u:%u ", major(device), minor(device));
    return !strstr(mounts, text);
}

/* Copy FROM, of the image, to TO. The runtime has written the home of its user, root,
 * into MADE (NULL: it has made none). */
static void put_users(FILE *made, FILE *from, const struct correction *it, FILE *to)
{
    struct passwd user = it->user;
    char *home = NULL;

    if (made)
        home = berth_database_home(made, 0);
    if (home)
        user.pw_dir = home;
    berth_database_put_user(from, &user, to);
}

static void put_groups(FILE *made, FILE *from, const struct correction *it, FILE *to)
{
    const struct group *entry;

    (void)made;
    while ((entry = fgetgrent(from)))
        putgrent(entry, to);
    fwrite(it->groups.text, 1, it->groups.used, to);
}

/* Replace what the file FD has by the COUNT bytes at TEXT. */
static void rewrite(int fd, const char *text, size_t count)
{
    if (lseek(fd, 0, SEEK_SET) == 0 && ftruncate(fd, 0) == 0)
        berth_fd_write(fd, text, count);
}

/* Correct the database PATH with PUT: a file that the runtime has made and mounted over
 * that of the image; in a writable container that of the image: there a runtime of root
 * mounts none. */
static void correct(const char *path, bool is_writable, const struct correction *it,
                    void (*put)(FILE *made, FILE *from, const struct correction *it,
                                FILE *to))
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    FILE *made = NULL, *image, *to;
    struct stat file, directory;
    char *text;
    size_t count;

    if (fd < 0 || fstat(fd, &file) < 0 || !S_ISREG(file.st_mode))
        return;
    if (stat(DIRECTORY, &directory) < 0)
        return;

    /* a file of another device than its directory is mounted there */
    if (file.st_dev != directory.st_dev) {
        made = berth_database_open(path);
        if (!is_made_by_runtime(fd, file.st_dev, it->mounts.text) ||
            umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
            return;
    } else if (!is_writable) {
        return;
    }

    image = berth_database_open(path);
    if (!image)
        return;
    to = open_memstream(&text, &count);
    if (!to)
        return;
    put(made, image, it, to);
    if (fclose(to) == 0)
        rewrite(fd, text, count);
}

struct container {
    struct berth_holder holder;
    bool is_writable;
};

/* In a child, which need not free: correct both databases of DATA, a struct container.
 * The child unmounts the files of the runtime in its own copy of the mounts, to read
 * those of the image below. */
static int correct_both(void *data)
{
    const struct container *container = data;
    struct correction it = {0};
    struct berth_err err;

    if (!find_correction(&it) || berth_join_owner(container->holder, &err) < 0)
        return EXIT_FAILURE;
    if (unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return EXIT_FAILURE;

    correct(USERS, container->is_writable, &it, put_users);
    correct(GROUPS, container->is_writable, &it, put_groups);
    return EXIT_SUCCESS;
}

void berth_database_correct(struct berth_holder holder,
                            const struct berth_request *request)
{
    struct container container = {holder, request->writable == BERTH_YES};

    berth_run_wait(berth_child(correct_both, &container, SIGKILL));
}
