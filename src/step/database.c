/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the names of the user and of the groups into a container whose runtime was
 * root. */

#include "step/database.h"

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
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/run.h"
#include "step/join.h"

#define DIRECTORY "/etc"
#define USERS     DIRECTORY "/passwd"
#define GROUPS    DIRECTORY "/group"

/* A larger database stays as it is, and more of a table of mounts is not read. */
enum { LARGEST = 16 << 20 };

FILE *berth_database_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size < LARGEST
               ? fdopen(fd, "r")
               : NULL;
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

    while ((entry = fgetpwent(from)))
        if (entry->pw_uid == uid)
            return *entry->pw_dir ? strdup(entry->pw_dir) : NULL;
    return NULL;
}

static void put_group(gid_t gid, const char *user, struct berth_buf *buf)
{
    const struct group *group = getgrgid(gid);

    if (group)
        berth_buf_addf(buf, "%s:x:%u:%s\n", group->gr_name, (unsigned int)gid, user);
}

/* Append the lines of the groups of this process, and of the user's own group if it is
 * not one of them. */
static void put_groups(const struct passwd *user, struct berth_buf *buf)
{
    int count = getgroups(0, NULL);
    BERTH_FREE gid_t *groups = calloc((size_t)count + 1, sizeof(*groups));
    bool has_own = false;

    count = groups ? getgroups(count, groups) : 0;
    for (int i = 0; i < count; i++) {
        has_own |= groups[i] == user->pw_gid;
        put_group(groups[i], user->pw_name, buf);
    }
    if (!has_own)
        put_group(user->pw_gid, user->pw_name, buf);
}

/* Has the runtime made the file FD, which is mounted over one in DIRECTORY? The runtime
 * makes it in a tmpfs of its own. A file that a user or the site has mounted is in a
 * file system of the host, which stands in MOUNTS, the mountinfo of the host
 * (proc_pid_mountinfo(5)). */
static bool is_made_by_runtime(int fd, const char *mounts)
{
    struct stat file, directory;
    struct statfs system;
    char device[64];

    if (fstat(fd, &file) < 0 || fstatfs(fd, &system) < 0 ||
        stat(DIRECTORY, &directory) < 0)
        return false;
    snprintf(device, sizeof(device), " %u:%u ", major(file.st_dev), minor(file.st_dev));
    return S_ISREG(file.st_mode) && system.f_type == TMPFS_MAGIC &&
           file.st_dev != directory.st_dev && !strstr(mounts, device);
}

/* A database of the container. */
struct database {
    const char *path;
    int fd; /* -1: it stays as it is */
    bool is_mounted;
};

/* Open a database that may be corrected: a file that the runtime has made and mounted,
 * or, in a writable container, a file of the image: there a runtime of root mounts
 * none. */
static struct database open_database(const char *path, const char *mounts,
                                     bool is_writable)
{
    struct database it = {path, open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC), true};
    struct stat file, directory;

    if (it.fd < 0 || is_made_by_runtime(it.fd, mounts))
        return it;
    it.is_mounted = false;
    if (is_writable && fstat(it.fd, &file) == 0 && stat(DIRECTORY, &directory) == 0 &&
        S_ISREG(file.st_mode) && file.st_dev == directory.st_dev)
        return it;
    close(it.fd);
    it.fd = -1;
    return it;
}

/* Open the file of the image, which may be below that of the runtime. */
static FILE *open_image(const struct database *it)
{
    return it->is_mounted && umount2(it->path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0
               ? NULL
               : berth_database_open(it->path);
}

static void write_again(int fd, const char *text, size_t count)
{
    if (lseek(fd, 0, SEEK_SET) == 0 && ftruncate(fd, 0) == 0)
        berth_fd_write(fd, text, count);
}

/* The runtime has written the home of its user, root. */
static void correct_users(const struct database *it, struct passwd *user)
{
    FILE *made = it->fd < 0 ? NULL : fdopen(it->fd, "r");
    char *home = made && it->is_mounted ? berth_database_home(made, 0) : NULL;
    FILE *image = made ? open_image(it) : NULL;
    char *text;
    size_t count;
    FILE *to = image ? open_memstream(&text, &count) : NULL;

    if (home)
        user->pw_dir = home;
    if (!to)
        return;
    berth_database_put_user(image, user, to);
    if (fclose(to) == 0)
        write_again(it->fd, text, count);
}

static void correct_groups(const struct database *it, const struct berth_buf *groups)
{
    FILE *image = it->fd < 0 ? NULL : open_image(it);
    const struct group *entry;
    char *text;
    size_t count;
    FILE *to = image ? open_memstream(&text, &count) : NULL;

    if (!to)
        return;
    while ((entry = fgetgrent(image)))
        putgrent(entry, to);
    fwrite(groups->text, 1, groups->used, to);
    if (fclose(to) == 0)
        write_again(it->fd, text, count);
}

/* In a child, which need not free: correct both databases. The child unmounts the files
 * of the runtime in its own copy of the mounts, to read those of the image below. */
static void correct(struct berth_holder holder, bool is_writable)
{
    const struct passwd *known = getpwuid(getuid());
    struct berth_buf mounts = {0}, lines = {0};
    struct database users, groups;
    struct passwd user;
    struct berth_err err;

    if (!known)
        return;
    user = *known;
    user.pw_passwd = (char *)"x";
    put_groups(&user, &lines);
    if (berth_fd_read_path("/proc/self/mountinfo", LARGEST, &mounts) < 0 ||
        mounts.failed || !mounts.used || lines.failed ||
        berth_join_owner(holder, &err) < 0)
        return;
    users = open_database(USERS, mounts.text, is_writable);
    groups = open_database(GROUPS, mounts.text, is_writable);
    if ((users.fd < 0 && groups.fd < 0) || unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return;
    correct_users(&users, &user);
    correct_groups(&groups, &lines);
}

void berth_database_correct(struct berth_holder holder,
                            const struct berth_request *request)
{
    pid_t child = fork();

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        correct(holder, request->writable == BERTH_YES);
        _exit(EXIT_SUCCESS);
    }
    berth_run_wait(child);
}
