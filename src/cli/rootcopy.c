/* SPDX-License-Identifier: Apache-2.0 */
/* Gets a descriptor of the file system of a container, without what is mounted in it. A
 * process that has entered the container must not be one whose descriptors another
 * process could open (container/join.h): so a child enters, sends the descriptor, and
 * keeps the file system. */

#include "cli/rootcopy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/run.h"
#include "container/join.h"
#include "container/namespaces.h"
#include "ipc/message.h"
#include "job/protocol.h"

#ifndef SYS_open_tree
#define SYS_open_tree 428 /* Linux 5.2, the same number everywhere */
#endif
#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif

/* Return a descriptor of the root file system of CONTAINER alone; -1 with a sentence in
 * ERR. */
static int copy_root(const struct berth_container *container, struct berth_err *err)
{
    const struct berth_holder holder = {container->holder, container->mounts};
    int root = -1;

    if (berth_join_owner(holder, err) < 0)
        return -1;

    /* Apptainer makes the root unbindable. In a copy of the mounts it need not be so.
     */
    if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_PRIVATE, NULL) == 0)
        root = (int)syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE);
    if (root < 0)
        berth_err_file(err, "/", "read");
    return root;
}

/* In a child: hold the root file system of a container (DATA) alone, which ends with
 * its last descriptor, send it over the socket END after why that fails (""), and stay.
 */
static int hold(int end, void *data)
{
    struct berth_err why = {0};
    int root = copy_root(data, &why);

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a new user namespace clears it */
    if (berth_fd_write(end, &why, sizeof(why)) < 0 || root < 0)
        return EXIT_FAILURE;
    if (berth_message_send_fd(end, BERTH_JOB_JOIN, root) == 0)
        pause();
    return EXIT_FAILURE;
}

/* In a user namespace of the user: let programs read files of the user without
 * permission to read, as its owner could permit. A program with that capability cannot
 * be traced by one of the image, which has none (ptrace(2)). Returns 0, or -1 with
 * errno. */
static int permit_reading(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &header, data) < 0)
        return -1;
    data[0].inheritable |= 1U << CAP_DAC_READ_SEARCH;
    if (syscall(SYS_capset, &header, data) < 0)
        return -1;
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0);
}

/* Receive from hold() the descriptor of the file system. Returns 0, or -1 with a
 * sentence in ERR: why hold() has none, or that it has ended. */
static int receive_root(int channel, int *ret_root, struct berth_err *err)
{
    struct pollfd answer = {.fd = channel, .events = POLLIN};

    if (read(channel, err, sizeof(*err)) != sizeof(*err))
        return berth_err_set(err, BERTH_JOIN_DEAD);
    if (*err->text)
        return -1;
    poll(&answer, 1, -1);
    if (berth_message_receive_fd(channel, ret_root) != BERTH_JOB_JOIN || *ret_root < 0)
        return berth_err_set(err, BERTH_JOIN_DEAD);
    return 0;
}

/* Enter the user namespace of CONTAINER, to which a FUSE file system answers, with the
 * permission to read all files of the user. */
static int enter_owner(const struct berth_container *container, struct berth_err *err)
{
    const struct berth_holder holder = {container->holder, container->mounts};

    if (berth_join_owner_user(holder) < 0 || permit_reading() < 0)
        return berth_err_file(err, "/", "read");
    return 0;
}

int berth_rootcopy_make(const struct berth_container *container,
                        struct berth_rootcopy *ret, struct berth_err *err)
{
    BERTH_CLOSE int channel = -1;
    BERTH_CLOSE int root = -1;

    ret->child = berth_child_with_channel(hold, (void *)container, SIGKILL, &channel);
    if (ret->child < 0)
        return berth_err_spent(err, errno);
    if (receive_root(channel, &root, err) < 0 || enter_owner(container, err) < 0) {
        berth_rootcopy_end(ret);
        return -1;
    }
    ret->fd = dup(root); /* not closed on exec */
    return 0;
}

void berth_rootcopy_end(struct berth_rootcopy *copy)
{
    kill(copy->child, SIGKILL);
    berth_run_wait(copy->child);
    copy->child = -1;
}
