/* SPDX-License-Identifier: Apache-2.0 */
/* A program of an image, which need not be what it seems: appends to /x/seen, or to
 * /tmp/seen where it cannot, what it was given. As the loader of another program (the
 * image's ld.so) it is asked, with LD_TRACE_LOADED_OBJECTS; else it is a task. Linked
 * statically. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FEW = 100, CAP_SYS_ADMIN_NUMBER = 21 };

extern char **environ;

static const char *as;
static int seen;

static void tell_descriptors(void)
{
    for (int fd = 3; fd < FEW; fd++)
        if (fcntl(fd, F_GETFD) == 0)
            dprintf(seen, "%s: descriptor %d\n", as, fd);
}

static void tell_environment(void)
{
    for (char **it = environ; *it; it++)
        if (strncmp(*it, "BERTH_TASK", 10) == 0)
            dprintf(seen, "%s: variable %s\n", as, *it);
}

/* Who started us: 0 is somebody outside of our process namespace. */
static void tell_parent(void)
{
    char bytes[8];
    struct iovec to = {bytes, sizeof(bytes)}, from = {environ, sizeof(bytes)};
    pid_t parent = getppid();

    dprintf(seen, "%s: parent %s\n", as, parent ? "seen" : "hidden");
    if (parent && process_vm_readv(parent, &to, 1, &from, 1, 0) >= 0)
        dprintf(seen, "%s: reads its parent\n", as);
}

int main(void)
{
    int fd = open("/x/seen", O_WRONLY | O_CREAT | O_APPEND, 0600);

    if (fd < 0)
        fd = open("/tmp/seen", O_WRONLY | O_CREAT | O_APPEND, 0600);
    as = getenv("LD_TRACE_LOADED_OBJECTS") ? "asked" : "task";
    seen = fcntl(fd, F_DUPFD_CLOEXEC, FEW);
    close(fd);
    tell_descriptors();
    tell_environment();
    tell_parent();
    dprintf(seen, "%s: may%s gain rights\n", as,
            prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) ? " not" : "");
    if (prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN_NUMBER, 0, 0, 0) > 0)
        dprintf(seen, "%s: CAP_SYS_ADMIN\n", as);
    if (open("/dev/tty", O_RDWR) >= 0)
        dprintf(seen, "%s: a terminal\n", as);
    return 0;
}
