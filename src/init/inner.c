/* SPDX-License-Identifier: Apache-2.0 */
/* How berth-init gets from the user namespace of the runtime into that of the tasks. */

#include "init/inner.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel gives all of them to who enters a user namespace (user_namespaces(7)). */
static int drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

    return (int)syscall(SYS_capset, &header, none);
}

int berth_inner_enter(int inner)
{
    enum { MOST = 64 };
    bool bound[MOST];

    for (int cap = 0; cap < MOST; cap++)
        bound[cap] = prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1;
    if (setns(inner, CLONE_NEWUSER) < 0)
        return -1;
    for (int cap = 0; cap < MOST; cap++)
        if (!bound[cap] && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno == EINVAL)
            break; /* the kernel knows no more of them */
    return drop_capabilities();
}
