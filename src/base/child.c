/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a child process that runs a function. */

#include "base/child.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* In the child of PARENT: get the signal DEATH when PARENT ends. */
static void die_with(pid_t parent, int death)
{
    if (death == 0)
        return;
    prctl(PR_SET_PDEATHSIG, death);
    /* it may have ended before the kernel was asked, and then there is no signal */
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
}

pid_t berth_child(int (*body)(void *data), void *data, int death)
{
    pid_t parent = getpid();
    pid_t child = fork();

    if (child != 0)
        return child;
    die_with(parent, death);
    _exit(body(data));
}

/* A body with a channel, as the body of berth_child(). */
struct connected {
    int (*body)(int channel, void *data);
    void *data;
    int ends[2]; /* of the caller, and of the child */
};

static int run_connected(void *data)
{
    const struct connected *connected = data;

    close(connected->ends[0]);
    return connected->body(connected->ends[1], connected->data);
}

pid_t berth_child_with_channel(int (*body)(int channel, void *data), void *data,
                               int death, int *ret_channel)
{
    struct connected connected = {.body = body, .data = data};
    pid_t child;
    int number;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, connected.ends) < 0)
        return -1;
    child = berth_child(run_connected, &connected, death);
    number = errno;
    close(connected.ends[1]);
    if (child > 0) {
        *ret_channel = connected.ends[0];
        return child;
    }

    close(connected.ends[0]);
    errno = number;
    return -1;
}
