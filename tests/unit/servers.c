/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the processes that end has served the image. */

#include "step/servers.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static const struct {
    const char *name;
    bool is_server;
} names[] = {
    {"squashfuse_ll", true}, {"fuse-overlayfs", true}, {"fuse2fs", true},
    {"gocryptfs", true},     {"srun", false},          {"berth-start", false},
};

static pid_t killed(const char *name)
{
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_NAME, name);
        raise(SIGKILL);
    }
    return pid;
}

TEST_ROWS(a_process_that_has_ended_was_a_server_or_not, names)
{
    struct berth_servers servers = {0};
    pid_t pid = killed(names[_i].name);
    int status = 0;
    pid_t ended;

    while ((ended = berth_servers_reap(&servers, &status)) == 0)
        usleep(1000);
    ck_assert_int_eq(ended, pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ck_assert_msg(servers.is_server == names[_i].is_server, "%s", names[_i].name);
    ck_assert_int_eq(berth_servers_reap(&servers, &status), -1);
}
