/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a user database for one process, in a mount namespace of its own. */

#include "container/identity.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/namespaces.h"

#define DATABASE "/etc/passwd"

/* A directory of every host; a tmpfs covers it while the file is made. */
#define PLACE "/tmp"
#define COPY  PLACE "/passwd"

/* More of a larger user database is not read. */
enum { LARGEST = 16 << 20 };

/* May TEXT stand in a field of passwd(5)? */
static bool is_field(const char *text)
{
    if (!text || *text == '\0')
        return false;
    for (const char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c) || *c == ':')
            return false;
    return true;
}

static bool is_path(const char *text)
{
    return is_field(text) && *text == '/';
}

void berth_identity_line(struct berth_buf *buf, uid_t uid, gid_t gid, const char *name,
                         const char *home, const char *shell)
{
    bool has_name = is_field(name) && !strchr(name, '/');
    char number[32];

    snprintf(number, sizeof(number), "user%u", (unsigned int)uid);
    if (!has_name)
        name = number;
    if (!is_path(home))
        home = "/";
    if (!is_path(shell))
        shell = "/bin/sh";
    berth_buf_addf(buf, "%s:x:%u:%u::%s:%s\n", name, (unsigned int)uid,
                   (unsigned int)gid, home, shell);
}

/* Append the user database of the host, which may be empty. */
static void add_database(struct berth_buf *buf)
{
    berth_fd_read_path(DATABASE, LARGEST, buf);
    if (buf->used && buf->text[buf->used - 1] != '\n')
        berth_buf_puts(buf, "\n");
}

static bool write_file(const char *path, const char *text, size_t count)
{
    BERTH_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    return fd >= 0 && berth_fd_write(fd, text, count) == 0;
}

/* Enter a user namespace in which the user has the same number and may mount. */
static bool enter_namespaces(void)
{
    uid_t uid = getuid();
    gid_t gid = getgid();

    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
           berth_namespaces_map(uid, uid, gid, gid) == 0;
}

/* Mount a file with the text DATABASE over the host's user database. */
static bool cover(const struct berth_buf *database)
{
    if (mount("tmpfs", PLACE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") < 0)
        return false;
    if (!write_file(COPY, database->text, database->used))
        return false;
    if (mount(COPY, DATABASE, NULL, MS_BIND, NULL) < 0)
        return false;
    /* the mounted file stays */
    return umount2(PLACE, MNT_DETACH) == 0;
}

int berth_identity_provide(struct berth_err *err)
{
    BERTH_BUF struct berth_buf database = {0};
    const char *name = getenv("SLURM_JOB_USER");

    if (!name)
        name = getenv("USER");
    add_database(&database);
    berth_identity_line(&database, getuid(), getgid(), name, getenv("HOME"),
                        getenv("SHELL"));
    if (database.failed)
        return berth_err_oom(err);
    if (!enter_namespaces() || !cover(&database))
        return berth_err_set(
            err,
            "this node does not know user %u, and berth cannot add the user: %s; "
            "ask the administrators to repair its user database",
            (unsigned int)getuid(), strerror(errno));
    return 0;
}
