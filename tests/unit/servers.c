/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the processes that end has served the image, and what is removed then. */

#include "container/servers.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
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

/* In namespaces of its own: do directories stay in TMPDIR beside a runtime that runs
 * or has ended? Returns as access(2), or UNIT_CANNOT. */
static int stays(bool is_running)
{
    static const char directory[] = "/tmp/[a]{b,c}?";
    BERTH_FREE char *left = unit_format("%s/rootfs-7", directory);
    BERTH_FREE char *root = unit_format("%s/root", left);
    siginfo_t info;
    pid_t pid;

    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("proc", "/proc", "proc", 0, NULL) < 0 ||
        mount("tmpfs", "/tmp", "tmpfs", 0, NULL) < 0 || mkdir(directory, 0700) < 0 ||
        mkdir(left, 0700) < 0 || mkdir(root, 0700) < 0)
        return UNIT_CANNOT;
    prctl(PR_SET_NAME, "apptainer");
    pid = fork();
    if (pid == 0 && is_running)
        pause();
    if (pid == 0)
        _exit(0);
    prctl(PR_SET_NAME, "servers");
    if (!is_running)
        waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    setenv("TMPDIR", directory, 1);
    berth_servers_clear("/usr/bin/apptainer");
    return access(left, F_OK) == 0;
}

TEST(directories_are_removed_unless_a_runtime_starts)
{
    for (int is_running = 0; is_running < 2; is_running++) {
        pid_t pid;
        int status;

        pid =
            (pid_t)syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0);
        if (pid == 0)
            _exit(stays(is_running));
        if (pid < 0)
            return; /* only root may */
        status = unit_ended(pid);
        ck_assert(status == is_running || status == UNIT_CANNOT);
    }
}
