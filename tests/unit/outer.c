/* SPDX-License-Identifier: Apache-2.0 */
/* User namespaces that containers have in common, made by an ordinary user. */

#include "container/outer.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "container/namespaces.h"
#include "unit.h"

/* What the processes of a test have in common. */
struct shared {
    struct berth_outer outer;
    struct berth_deadline deadline;
    ino_t seen[2];
    atomic_int entered;
    pid_t target;
    char *secret;
};

static struct shared *share(void)
{
    struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(shared, MAP_FAILED);
    berth_deadline_begin(&shared->deadline, 10);
    return shared;
}

static void become_user(void)
{
    if (geteuid() == 0 && (setgid(54322) < 0 || setuid(54321) < 0))
        _exit(UNIT_CANNOT);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* its own files in /proc are its own again */
}

/* RUN in a process of its own, as an ordinary user. */
static pid_t start(int (*run)(struct shared *, int number), struct shared *shared,
                   int number)
{
    pid_t child = fork();

    if (child == 0) {
        become_user();
        _exit(run(shared, number));
    }
    ck_assert_int_gt(child, 0);
    return child;
}

static void assert_ends(pid_t child)
{
    int status = unit_ended(child);

    ck_assert_msg(status == 0 || status == UNIT_CANNOT, "status %d", status);
}

static enum berth_outer_answer find(struct shared *shared, int *inner,
                                    struct berth_err *err)
{
    if (berth_outer_claim(&shared->outer))
        berth_outer_make(&shared->outer, NULL);
    return berth_outer_find(&shared->outer, &shared->deadline, inner, err);
}

static void pause_ms(long milliseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000L}, NULL);
}

/* Root outside, the user inside, and nothing that ends with either. */
static int be_root_and_user(struct shared *shared, int number)
{
    uid_t uid = getuid();
    struct berth_err err;
    int inner = -1;

    (void)number;
    if (find(shared, &inner, &err) == BERTH_OUTER_NONE)
        return strstr(err.text, "this node lets users make no user namespaces: ")
                   ? UNIT_CANNOT
                   : 1;
    if (inner < 0 || waitpid(-1, NULL, 0) != -1)
        return 2; /* who held them is still there */
    if (!(fcntl(inner, F_GETFD) & FD_CLOEXEC))
        return 3;
    if (berth_outer_enter(inner) < 0 || getuid() != 0 || getgid() != 0)
        return 4;
    if (setns(inner, CLONE_NEWUSER) < 0 || getuid() != uid)
        return 5;
    return berth_outer_enter(inner) < 0 ? 0 : 6; /* there is no way back */
}

TEST(the_user_is_root_and_then_the_user_again)
{
    assert_ends(start(be_root_and_user, share(), 0));
}

/* Who comes first makes them, and both wait for each other. */
static int find_same(struct shared *shared, int number)
{
    struct berth_err err;
    struct stat status;
    int inner = -1;

    if (find(shared, &inner, &err) == BERTH_OUTER_NONE)
        return UNIT_CANNOT;
    if (inner < 0 || fstat(inner, &status) < 0)
        return 1;
    shared->seen[number] = status.st_ino;
    for (int i = 0; i < 500 && !(shared->seen[0] && shared->seen[1]); i++)
        pause_ms(10);
    return shared->seen[0] == shared->seen[1] ? 0 : 2;
}

TEST(two_at_once_get_the_same)
{
    struct shared *shared = share();
    pid_t first = start(find_same, shared, 0);
    pid_t second = start(find_same, shared, 1);

    assert_ends(first);
    assert_ends(second);
}

/* Into mount namespaces of their own, as two images have. */
static bool enter_image(int inner)
{
    return berth_outer_enter(inner) == 0 && unshare(CLONE_NEWNS) == 0 &&
           setns(inner, CLONE_NEWUSER) == 0;
}

static int be_read(struct shared *shared, int number)
{
    static char secret[] = "of the other image";
    struct berth_err err;
    int inner = -1;

    (void)number;
    if (find(shared, &inner, &err) == BERTH_OUTER_NONE || inner < 0)
        return UNIT_CANNOT;
    if (!enter_image(inner))
        return 1;
    shared->secret = secret;
    shared->target = getpid();
    atomic_store(&shared->entered, 1);
    for (int i = 0; i < 500 && atomic_load(&shared->entered) == 1; i++)
        pause_ms(10);
    return 0;
}

static int read_other(struct shared *shared, int number)
{
    char text[64] = "";
    struct iovec ours = {text, 18};
    struct iovec theirs;
    struct berth_err err;
    int inner = -1;
    ssize_t count;

    (void)number;
    if (find(shared, &inner, &err) == BERTH_OUTER_NONE || inner < 0)
        return UNIT_CANNOT;
    if (!enter_image(inner))
        return 1;
    for (int i = 0; i < 500 && atomic_load(&shared->entered) == 0; i++)
        pause_ms(10);
    theirs = (struct iovec){shared->secret, 18};
    count = process_vm_readv(shared->target, &ours, 1, &theirs, 1, 0);
    atomic_store(&shared->entered, 2);
    return count == 18 && strcmp(text, "of the other image") == 0 ? 0 : 2;
}

TEST(one_reads_the_memory_of_the_other)
{
    struct shared *shared = share();
    pid_t target = start(be_read, shared, 0);
    pid_t reader = start(read_other, shared, 1);

    assert_ends(reader);
    assert_ends(target);
}

TEST(a_refusal_holds_for_all)
{
    struct shared *shared = share();
    struct berth_err err;
    int inner = -1;

    ck_assert(berth_outer_claim(&shared->outer));
    ck_assert(!berth_outer_claim(&shared->outer));
    berth_outer_make(&shared->outer, "the site says no");
    ck_assert_int_eq(find(shared, &inner, &err), BERTH_OUTER_NONE);
    ck_assert_str_eq(err.text, "the site says no");
    ck_assert_int_eq(inner, -1);
}

static int end(struct shared *shared, int number)
{
    struct berth_err err;
    int inner;

    if (number && find(shared, &inner, &err) == BERTH_OUTER_NONE)
        return UNIT_CANNOT;
    shared->target = getpid();
    return 0;
}

/* Before and after it has made them. */
TEST_TIMES(a_maker_that_is_gone_is_not_waited_for, 2)
{
    struct shared *shared = share();
    struct berth_err err;
    int inner = -1;

    assert_ends(start(end, shared, _i));
    if (_i == 0)
        atomic_store(&shared->outer.maker, shared->target);
    if (_i == 1 && !shared->target)
        return; /* it could not */
    ck_assert_int_eq(find(shared, &inner, &err), BERTH_OUTER_LOST);
    ck_assert_int_eq(inner, -1);
}

TEST(a_maker_that_is_stopped_is_waited_for_until_the_deadline)
{
    struct shared *shared = share();
    struct berth_err err;
    int inner = -1;

    berth_deadline_begin(&shared->deadline, 0);
    pause_ms(5);
    atomic_store(&shared->outer.maker, getpid());
    ck_assert_int_eq(find(shared, &inner, &err), BERTH_OUTER_LOST);
}

/* As a node may be set up: NUMBER user namespaces, and no more (namespaces(7)). */
static int find_limited(struct shared *shared, int number)
{
    uid_t uid = getuid();
    gid_t gid = getgid();
    char text[] = {(char)('0' + number), '\0'};
    struct berth_err err;
    int inner = -1;
    int fd;

    if (unshare(CLONE_NEWUSER) < 0 || berth_namespaces_map(uid, uid, gid, gid) < 0)
        return UNIT_CANNOT;
    fd = open("/proc/sys/user/max_user_namespaces", O_WRONLY);
    if (fd < 0 || berth_fd_write(fd, text, 1) < 0)
        return UNIT_CANNOT;
    if (find(shared, &inner, &err) != BERTH_OUTER_NONE || inner >= 0)
        return 1;
    return strcmp(err.text, "this node lets users make no user namespaces: No space "
                            "left on device") == 0
               ? 0
               : 2;
}

TEST_TIMES(a_node_may_have_too_few, 2)
{
    assert_ends(start(find_limited, share(), _i));
}
