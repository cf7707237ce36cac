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

/* A larger database stays as it is. */
enum { LARGEST = 16 << 20 };

/* The line of the user for passwd(5): START, the home, END. */
struct account {
    uid_t uid;
    const char *home;
    struct berth_buf start;
    struct berth_buf end;
    struct berth_buf groups; /* lines of group(5) */
};

/* Returns field NUMBER (from 0) of the line at LINE, and its length in *RET_COUNT;
 * NULL: the line has fewer fields. */
static const char *find_field(const char *line, int number, size_t *ret_count)
{
    for (; number > 0; number--) {
        line += strcspn(line, ":\n");
        if (*line++ != ':')
            return NULL;
    }
    *ret_count = strcspn(line, ":\n");
    return line;
}

static bool is_of(const char *line, uid_t uid)
{
    size_t count;
    const char *field = find_field(line, 2, &count);
    char *end;

    return field && count && strtoul(field, &end, 10) == uid && end == field + count;
}

/* Returns the first line of UID in TEXT, or the end of TEXT. */
static const char *find_line(const char *text, uid_t uid)
{
    while (*text && !is_of(text, uid)) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return text;
}

static void end_line(struct berth_buf *buf)
{
    if (buf->used && buf->text[buf->used - 1] != '\n')
        berth_buf_puts(buf, "\n");
}

void berth_database_put_user(const char *text, uid_t uid, const char *line,
                             struct berth_buf *ret)
{
    const char *old = find_line(text, uid);

    berth_buf_add(ret, text, (size_t)(old - text));
    end_line(ret);
    berth_buf_puts(ret, line);
    old += strcspn(old, "\n");
    berth_buf_puts(ret, *old == '\n' ? old + 1 : old);
}

void berth_database_put_home(const char *text, uid_t uid, const char *fallback,
                             struct berth_buf *ret)
{
    size_t count = 0;
    const char *home = find_field(find_line(text, uid), 5, &count);

    if (home && count)
        berth_buf_add(ret, home, count);
    else
        berth_buf_puts(ret, fallback);
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

/* Read what this host knows of the user. Returns false if it does not know the user. */
static bool read_account(struct account *account)
{
    const struct passwd *user = getpwuid(getuid());

    if (!user)
        return false;
    account->uid = user->pw_uid;
    account->home = strdup(user->pw_dir);
    berth_buf_addf(&account->start, "%s:x:%u:%u:%s:", user->pw_name,
                   (unsigned int)user->pw_uid, (unsigned int)user->pw_gid,
                   user->pw_gecos);
    berth_buf_addf(&account->end, ":%s\n", user->pw_shell);
    put_groups(user, &account->groups);
    return account->home && !account->start.failed && !account->end.failed &&
           !account->groups.failed;
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

static bool read_image(const struct database *it, struct berth_buf *ret)
{
    return (!it->is_mounted || umount2(it->path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0) &&
           berth_fd_read_path(it->path, LARGEST, ret) == 0 && !ret->failed &&
           ret->used < LARGEST;
}

static void write_again(int fd, const struct berth_buf *text)
{
    if (!text->failed && lseek(fd, 0, SEEK_SET) == 0 && ftruncate(fd, 0) == 0)
        berth_fd_write(fd, text->text, text->used);
}

static void correct_users(const struct database *it, const struct account *account)
{
    struct berth_buf made = {0}, image = {0}, line = {0}, text = {0};

    if (it->fd < 0 || berth_fd_read(it->fd, LARGEST, &made) < 0 || made.failed ||
        !read_image(it, &image))
        return;
    berth_buf_add(&line, account->start.text, account->start.used);
    if (it->is_mounted && made.used)
        berth_database_put_home(made.text, 0, account->home, &line);
    else
        berth_buf_puts(&line, account->home);
    berth_buf_puts(&line, account->end.text);
    if (!line.failed)
        berth_database_put_user(image.used ? image.text : "", account->uid, line.text,
                                &text);
    write_again(it->fd, &text);
}

static void correct_groups(const struct database *it, const struct account *account)
{
    struct berth_buf text = {0};

    if (it->fd < 0 || !read_image(it, &text))
        return;
    end_line(&text);
    berth_buf_add(&text, account->groups.text, account->groups.used);
    write_again(it->fd, &text);
}

/* In a child: correct both databases. The child unmounts the files of the runtime in
 * its own copy of the mounts, to read those of the image below. */
static void correct(struct berth_holder holder, const struct account *account,
                    bool is_writable)
{
    struct berth_buf mounts = {0};
    struct database users, groups;
    struct berth_err err;

    if (berth_fd_read_path("/proc/self/mountinfo", LARGEST, &mounts) < 0 ||
        mounts.failed || !mounts.used || berth_join_owner(holder, &err) < 0)
        return;
    users = open_database(USERS, mounts.text, is_writable);
    groups = open_database(GROUPS, mounts.text, is_writable);
    if ((users.fd < 0 && groups.fd < 0) || unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return;
    correct_users(&users, account);
    correct_groups(&groups, account);
}

void berth_database_correct(struct berth_holder holder,
                            const struct berth_request *request)
{
    struct account account = {0};
    pid_t child = read_account(&account) ? fork() : -1;

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        correct(holder, &account, request->writable == BERTH_YES);
        _exit(EXIT_SUCCESS);
    }
    berth_run_wait(child);
    free((char *)account.home);
    berth_buf_fini(&account.start);
    berth_buf_fini(&account.end);
    berth_buf_fini(&account.groups);
}
