/* SPDX-License-Identifier: Apache-2.0 */
/* Ends this process as another process has ended. */

#include "run/status.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void berth_status_end(int status)
{
    sigset_t one;

    if (WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    prctl(PR_SET_DUMPABLE, 0);
    signal(WTERMSIG(status), SIG_DFL);
    kill(getpid(), WTERMSIG(status));
    sigemptyset(&one);
    sigaddset(&one, WTERMSIG(status));
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    _exit(128 + WTERMSIG(status)); /* the first process of a process namespace survives
                                      its own signal */
}
