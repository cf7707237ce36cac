/* SPDX-License-Identifier: Apache-2.0 */
/* What of the node a container shows. This process is its own container. */

#include "container/namespaces.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "container/join.h"
#include "unit.h"

TEST(nothing_of_ours_is_another)
{
    struct berth_mpi_reach reach = {.separate = 2, .nodes = 3};

    ck_assert(!berth_namespaces_differ(getpid(), "user"));
    ck_assert(berth_namespaces_shared(getpid(), getpid(), "mnt"));
    ck_assert(!berth_namespaces_shared(getpid(), -1, "mnt"));
    ck_assert(!berth_namespaces_shared(-1, getpid(), "mnt"));
    berth_namespaces_find_reach(getpid(), &reach);
    ck_assert(!reach.pid && !reach.ipc && !reach.shm && !reach.network);
    ck_assert_int_eq(reach.separate, 2);
    ck_assert_int_eq(reach.nodes, 3);
}

static const struct {
    const char *step;
    const char *modules;
    const char *directory; /* that is there, behind the user's number */
    bool is_hidden;
} rows[] = {
    {"slurm.pmix.7.0", "shmem2,hash", "7.0", false},
    {"slurm.pmix.7.0", "shmem2,hash", "7.1", true},
    {"slurm.pmix.7.0", "ds21,ds12,hash", "7.1", false},
    {"prterun-n1-7@1", "shmem2,hash", "7.1", false},
};

TEST_ROWS(files_of_the_server_may_be_hidden, rows)
{
    BERTH_FREE char *directory = unit_directory();
    BERTH_FREE char *path = NULL;
    char variables[3][128];
    char *task[] = {variables[0], variables[1], variables[2], NULL};

    snprintf(variables[0], sizeof(variables[0]), "PMIX_NAMESPACE=%s", rows[_i].step);
    snprintf(variables[1], sizeof(variables[1]), "PMIX_GDS_MODULE=%s",
             rows[_i].modules);
    snprintf(variables[2], sizeof(variables[2]), "PMIX_SYSTEM_TMPDIR=%s", directory);
    path =
        unit_format("%s/spmix_appdir_%u_%s", directory, getuid(), rows[_i].directory);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(berth_namespaces_is_pmix_hidden(getpid(), task),
                     rows[_i].is_hidden);
    unit_remove(directory);
}

/* A program in the namespace that is root there could trace this process. */
TEST(who_enters_a_user_namespace_is_not_dumpable)
{
    berth_namespaces_enter_user(getpid()); /* its own, which the kernel refuses */
    ck_assert_int_eq(prctl(PR_GET_DUMPABLE), 0);
}

static void nothing(const char *data)
{
    (void)data; /* and wait */
}

/* A process in another mount namespace than that of the holder has the number of the
 * holder: one that has got it later. */
TEST(a_number_is_not_a_holder)
{
    struct berth_holder child = berth_holder_of(unit_process(nothing, NULL));
    const struct berth_holder gone = {child.pid, child.mounts + 1};
    struct berth_err err;
    int fd = berth_holder_open(child);

    ck_assert_uint_eq(child.mounts, berth_holder_of(getpid()).mounts);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(berth_holder_open(gone), -1);
    ck_assert_int_eq(errno, ESRCH);
    ck_assert_int_eq(berth_join(gone, &err), -1);
    ck_assert_str_eq(err.text, "the container ended before this task could join it "
                               "(often: out of memory); submit the step again");
    ck_assert(berth_holder_is_there(child));
    ck_assert(!berth_holder_is_there(gone));
    /* of a process that has ended nothing can be seen, either */
    ck_assert(!berth_holder_is_there((struct berth_holder){-1, 0}));
    berth_holder_kill(gone);
    usleep(10000);
    ck_assert_int_eq(waitpid(child.pid, NULL, WNOHANG), 0);
    berth_holder_kill(child);
    ck_assert_int_eq(waitpid(child.pid, NULL, 0), child.pid);
}

static int kill_own_namespace(void)
{
    pid_t child;
    int status;

    /* With all that this would kill: never try it where others are. */
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return UNIT_CANNOT;
    child = fork();
    if (child == 0) {
        pause();
        _exit(EXIT_SUCCESS);
    }
    berth_namespaces_kill(berth_namespaces_open(getpid(), "mnt"), getpid());
    usleep(10000);
    status = waitpid(child, NULL, WNOHANG) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    kill(child, SIGKILL);
    return status;
}

/* The namespace was opened by a process id, which may be another process's by then. */
TEST(nothing_is_killed_in_a_mount_namespace_that_is_our_own)
{
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(kill_own_namespace());
    status = unit_ended(child);
    ck_assert(status == 0 || status == UNIT_CANNOT);
}

/* Wait as user DATA of a new user namespace, or in that of this process if the host
 * permits none. */
static void become_user(const char *data)
{
    const uid_t uid = geteuid();
    const gid_t gid = getegid();

    if (unshare(CLONE_NEWUSER) == 0)
        berth_namespaces_map((uid_t)atoi(data), uid, 0, gid);
}

static const struct {
    const char *user;
    bool is_root;
} users[] = {{"0", true}, {"2001", false}};

TEST_ROWS(it_is_seen_who_is_root_in_a_container, users)
{
    pid_t child = unit_process(become_user, users[_i].user);

    if (berth_namespaces_differ(child, "user"))
        ck_assert(berth_namespaces_is_root(child) == users[_i].is_root);
    ck_assert(!berth_namespaces_is_root(-1));
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
