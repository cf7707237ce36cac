/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the user namespaces that the containers of a step on a node share. */

#include "container/outer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/run.h"
#include "container/namespaces.h"

enum { NEW, THERE, NONE };

/* Enter a new user namespace in which the user is root, and in it another one, in which
 * the user has the ids of the host again. Returns 0, or -1 with errno. */
static int make_namespaces(void)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();

    if (unshare(CLONE_NEWUSER) < 0 || berth_namespaces_map(0, uid, 0, gid) < 0)
        return -1;
    if (unshare(CLONE_NEWUSER) < 0 || berth_namespaces_map(uid, 0, gid, 0) < 0)
        return -1;
    return 0;
}

/* In a child: make the namespaces, and stay in the inner one until the parent has
 * opened it. Returns errno if they cannot be made. */
static int hold(void *data)
{
    (void)data;
    if (make_namespaces() < 0)
        return errno;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a new user namespace clears it */
    raise(SIGSTOP);
    pause();
    return 0;
}

/* Returns a descriptor of the inner namespace, or -1 with errno. */
static int make_in_child(void)
{
    pid_t child = berth_child(hold, NULL, SIGKILL);
    int inner, number, status;

    if (child < 0 || waitpid(child, &status, WUNTRACED) < 0)
        return -1;
    if (WIFEXITED(status)) {
        errno = WEXITSTATUS(status);
        return -1;
    }
    inner = berth_namespaces_open(child, "user");
    number = errno;
    kill(child, SIGKILL);
    berth_run_wait(child);
    errno = number;
    return inner;
}

bool berth_outer_claim(struct berth_outer *outer)
{
    pid_t nobody = 0;

    return atomic_compare_exchange_strong(&outer->maker, &nobody, getpid());
}

void berth_outer_make(struct berth_outer *outer, const char *refusal)
{
    outer->inner = -1;
    if (refusal)
        berth_err_set(&outer->why, "%s", refusal);
    else
        outer->inner = make_in_child();
    if (!refusal && outer->inner < 0)
        berth_err_set(&outer->why, "this node lets users make no user namespaces: %s",
                      strerror(errno));

    /* last: who waits for the state reads the other members after it */
    if (outer->inner < 0)
        atomic_store(&outer->state, NONE);
    else
        atomic_store(&outer->state, THERE);
}

/* Wait until the maker has decided. Returns false if the maker is gone, or DEADLINE is
 * over. */
static bool await(struct berth_outer *outer, struct berth_deadline *deadline)
{
    int64_t since = berth_clock();

    while (atomic_load(&outer->state) == NEW) {
        bool is_gone = kill(atomic_load(&outer->maker), 0) < 0;

        /* it may have decided, and ended, since the state was read */
        if (is_gone || berth_deadline_left(deadline) < 0)
            return atomic_load(&outer->state) != NEW;
        poll(NULL, 0, berth_clock_pause(since));
    }
    return true;
}

enum berth_outer_answer berth_outer_find(struct berth_outer *outer,
                                         struct berth_deadline *deadline,
                                         int *ret_inner, struct berth_err *err)
{
    char path[64];
    int inner;

    if (!await(outer, deadline))
        return BERTH_OUTER_LOST;
    if (atomic_load(&outer->state) == NONE) {
        *err = outer->why;
        return BERTH_OUTER_NONE;
    }
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", atomic_load(&outer->maker),
             outer->inner);
    inner = open(path, O_RDONLY | O_CLOEXEC);
    if (inner < 0)
        return BERTH_OUTER_LOST;
    *ret_inner = inner;
    return BERTH_OUTER_THERE;
}

int berth_outer_enter(int inner)
{
    /* closed on exec: ioctl_ns(2) */
    BERTH_CLOSE int outer = ioctl(inner, NS_GET_PARENT);

    if (outer < 0)
        return -1;
    return setns(outer, CLONE_NEWUSER);
}
