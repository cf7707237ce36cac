/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the other side of a socket: a process on the host, or one that has
 * namespaces of its own, as a program in an image. */

#include "ipc/peer.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

/* A socket that is bound to NAME (NULL: the kernel chooses one). */
static int bound(const char *name, struct berth_address *ret)
{
    int fd = new_socket();

    if (name) {
        ck_assert_int_eq(berth_address_make(ret, "%s", name), 0);
        ck_assert_int_eq(berth_address_bind(fd, ret), 0);
        return fd;
    }
    ck_assert_int_eq(berth_peer_name(fd), 0);
    ck_assert_int_eq(berth_address_of(fd, ret), 0);
    return fd;
}

static struct berth_address address;

/* Connect to the address. */
static int connected(void)
{
    int fd = new_socket();

    ck_assert_int_eq(berth_peer_name(fd), 0);
    ck_assert_int_eq(berth_address_connect(fd, &address), 0);
    return fd;
}

/* Where the other process is. FLAGS are those of unshare(2); a mount namespace alone
 * takes a user namespace, but for root. */
static const struct {
    int flags;
    enum berth_peer expected;
} rows[] = {
    {0, BERTH_PEER_OWN},
    {CLONE_NEWUSER, BERTH_PEER_OTHER},
    {CLONE_NEWUSER | CLONE_NEWNS, BERTH_PEER_OTHER},
};

/* Start a process in namespaces of its own that calls BODY with FD, and stays. */
static pid_t start(int flags, void (*body)(int fd), int fd)
{
    int ends[2];
    char byte;
    pid_t child;

    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (unshare(flags) < 0)
            _exit(EXIT_FAILURE);
        body(fd);
        (void)!write(ends[1], "!", 1);
        pause();
    }
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return child;
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}

static void listen_at(int fd)
{
    ck_assert_int_eq(listen(fd, 9), 0);
}

static void connect_to(int fd)
{
    (void)fd;
    connected();
}

TEST_ROWS(a_server_is_known_by_its_namespaces, rows)
{
    int listener = bound(NULL, &address);
    pid_t child = start(rows[_i].flags, listen_at, listener);
    int client = connected();

    ck_assert_int_eq(berth_peer_server(client), rows[_i].expected);
    end(child);
    /* the process that has called listen() is gone; this one has the socket */
    if (rows[_i].expected == BERTH_PEER_OWN)
        ck_assert_int_eq(berth_peer_server(client), BERTH_PEER_GONE);
    close(client);
    close(listener);
}

TEST_ROWS(and_so_is_a_client, rows)
{
    int listener = bound(NULL, &address);
    int server;
    pid_t child;

    listen_at(listener);
    child = start(rows[_i].flags, connect_to, -1);
    server = accept(listener, NULL, NULL);
    ck_assert_int_eq(berth_peer_client(server), rows[_i].expected);
    end(child);
    close(server);
    close(listener);
}

TEST(another_user_is_another)
{
    int listener = bound(NULL, &address);
    int client;

    if (geteuid() != 0)
        return;
    listen_at(listener);
    client = connected();
    ck_assert_int_eq(seteuid(65534), 0);
    ck_assert_int_eq(berth_peer_server(client), BERTH_PEER_OTHER);
    ck_assert_int_eq(seteuid(0), 0);
    close(client);
    close(listener);
}

/* What stands for a pidfd before Linux 6.5. */
TEST(a_process_holds_its_sockets)
{
    int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int listener = bound(NULL, &address);

    ck_assert(berth_peer_holds(self, &address, false));
    ck_assert(!berth_peer_holds(self, &address, true));
    listen_at(listener);
    ck_assert(berth_peer_holds(self, &address, true));
    ck_assert(!berth_peer_holds(self, &address, false));
    ck_assert(!berth_peer_holds(-1, &address, true));
    close(listener);
    ck_assert(!berth_peer_holds(self, &address, true));
    close(self);
}

TEST(a_process_does_not_hold_those_of_others)
{
    int listener = bound(NULL, &address);
    pid_t child = start(0, listen_at, listener);
    char *path = unit_format("/proc/%d", child);
    int process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int own = bound(NULL, &address);

    ck_assert(!berth_peer_holds(process, &address, false));
    end(child);
    ck_assert(!berth_peer_holds(process, &address, false));
    close(process);
    close(own);
    close(listener);
    free(path);
}

/* A name may look like another line of /proc/net/unix, with another inode. */
TEST(a_name_with_a_line_break_deceives_nobody)
{
    int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int mine = new_socket();
    char *name = unit_format("unit.%d", getpid());
    char *false_name;
    struct berth_address other;
    struct stat status;
    int liar, target;

    /* the target is not open here, the socket that the false line names is */
    ck_assert_int_eq(fstat(mine, &status), 0);
    false_name = unit_format("x\n0: 2 0 10000 5 1 %lu @%s", status.st_ino, name);
    liar = bound(false_name, &other);
    target = bound(name, &address);
    ck_assert(berth_peer_holds(self, &address, false));
    listen_at(target);
    ck_assert(berth_peer_holds(self, &address, true));
    close(target);
    /* now only the false line has the name */
    ck_assert(!berth_peer_holds(self, &address, true));
    close(liar);
    close(mine);
    close(self);
    free(false_name);
    free(name);
}
