/* SPDX-License-Identifier: Apache-2.0 */
/* What an image gets of the file of berth-init, which it can open to write if the user
 * can. */

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/installed.h"
#include "base/text.h"
#include "container/program.h"
#include "unit.h"

enum { NOBODY = 65534 };

/* The descriptor that an image would get of PATH. */
static int opened(const char *path)
{
    struct berth_err err = {0};
    int fd = berth_program_open_at(path, &err);

    ck_assert_str_eq(err.text, "");
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD), 0); /* stays open through exec */
    return fd;
}

static bool is_file(int fd, const char *path)
{
    struct stat one, other;

    return fstat(fd, &one) == 0 && stat(path, &other) == 0 &&
           one.st_ino == other.st_ino && one.st_dev == other.st_dev;
}

/* Can FD be opened again to write, as a program of the image would? Not even root
 * writes to a copy. */
static bool can_write(int fd)
{
    char path[64];
    BERTH_CLOSE int again = -1;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    again = open(path, O_WRONLY);
    return again >= 0 && write(again, "#", 1) == 1;
}

static int run(int fd)
{
    static char *const argv[] = {(char *)"true", NULL};
    char path[64];
    pid_t child = fork();

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (child == 0) {
        execv(path, argv);
        _exit(EXIT_FAILURE);
    }
    return unit_ended(child);
}

/* In a child: as an ordinary user, with a file of the user's and one of root's. */
static int as_user(const char *mine)
{
    BERTH_CLOSE int own = -1;
    BERTH_CLOSE int roots = -1;

    if (geteuid() == 0 &&
        (chown(mine, NOBODY, NOBODY) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
        return UNIT_CANNOT;
    own = opened(mine);
    roots = opened("/bin/true");
    if (is_file(own, mine) || can_write(own))
        return 1;
    return is_file(roots, "/bin/true") && !can_write(roots) ? 0 : 2;
}

TEST(a_file_of_the_user_is_copied_and_one_of_root_is_not)
{
    BERTH_FREE char *mine = unit_path(unit_dir, "berth-init");
    int status;
    pid_t child;

    unit_run("chmod 755 %s; cp /bin/true %s", unit_dir, mine);
    child = fork();
    if (child == 0)
        _exit(as_user(mine));
    status = unit_ended(child);
    ck_assert(status == 0 || status == UNIT_CANNOT);
}

TEST(a_copy_runs_and_nobody_changes_it)
{
    BERTH_FREE char *mine = unit_path(unit_dir, "berth-init");
    BERTH_CLOSE int from = -1;
    int fd;

    unit_run("cp /bin/true %s", mine);
    from = open(mine, O_RDONLY);
    fd = berth_fd_sealed(from, "berth-init");
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "#", 1), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert(!can_write(fd));
    ck_assert_int_eq(ftruncate(fd, 0), -1);
    ck_assert_int_eq(fcntl(fd, F_GET_SEALS),
                     F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
    ck_assert_int_eq(run(fd), 0);
    close(fd);
}

TEST(a_file_that_is_not_there)
{
    struct berth_err err;

    ck_assert_int_eq(berth_program_open_at("/no/berth-init", &err), -1);
    ck_assert_str_eq(err.text, "'/no/berth-init': No such file or directory; berth is "
                               "incomplete on this host, tell its administrators");
}

/* In a process namespace, in which no program runs from memory (Linux 6.6). */
static int where_memory_does_not_run(const char *mine)
{
    BERTH_CLOSE int setting = -1;
    struct berth_err err;

    if (mount("proc", "/proc", "proc", 0, NULL) < 0)
        return UNIT_CANNOT;
    setting = open("/proc/sys/vm/memfd_noexec", O_WRONLY);
    if (setting < 0 || write(setting, "2", 1) != 1)
        return UNIT_CANNOT;
    if (berth_program_open_at(mine, &err) != -1)
        return 1;
    return strstr(err.text,
                  "': an image could overwrite it, and this host runs no copy "
                  "from memory; have an administrator install berth, or set "
                  "vm.memfd_noexec to 1")
               ? 0
               : 2;
}

TEST(a_host_that_runs_no_program_from_memory)
{
    BERTH_FREE char *mine = unit_path(unit_dir, "berth-init");
    pid_t child;
    int status;

    unit_run("cp /bin/true %s", mine);
    child = fork();
    if (child == 0) {
        if (!unit_may_mount() || unshare(CLONE_NEWPID) < 0)
            _exit(UNIT_CANNOT);
        child = fork();
        if (child == 0)
            _exit(where_memory_does_not_run(mine));
        _exit(unit_ended(child));
    }
    status = unit_ended(child);
    ck_assert(status == 0 || status == UNIT_CANNOT);
}

/* The variable by which this program knows that a test has started it again: where its
 * file is. */
#define AGAIN "UNIT_INITFILE"

/* And what its LD_LIBRARY_PATH is to be; not set: none. */
#define LIBRARIES "UNIT_LIBRARIES"

/* Another one: it only ends, with whether it may go on. */
#define LONG "UNIT_LONG"

static char *const no_words[] = {(char *)"initfile", NULL};

/* In this program, started again: it executes a copy, which knows where its file is,
 * and is called as the file. */
static int again(const char *file)
{
    const char *expected = getenv(LIBRARIES);
    BERTH_CLOSE int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct berth_err err;
    char name[16];

    if (is_file(program, file) || can_write(program))
        return 1;
    if (berth_program_protect(no_words, &err) < 0)
        return 2;
    if (!berth_installed_self() || strcmp(berth_installed_self(), file) != 0)
        return 3;
    if (prctl(PR_GET_NAME, name) < 0 ||
        strncmp(berth_text_base(file), name, sizeof(name) - 1) != 0)
        return 4;
    if (!expected != !getenv("LD_LIBRARY_PATH"))
        return 5;
    return expected && strcmp(expected, getenv("LD_LIBRARY_PATH")) != 0 ? 6 : 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *file = getenv(AGAIN);
    struct berth_err err = {0};

    if (file)
        _exit(again(file));
    if (!getenv(LONG))
        return;
    if (berth_program_protect(no_words, &err) == 0)
        _exit(EXIT_SUCCESS);
    dprintf(STDERR_FILENO, "%s\n", err.text);
    _exit(EXIT_FAILURE);
}

/* In a child, which has a program that the user can write. LIBRARIES: the user's
 * LD_LIBRARY_PATH; NULL: none. */
static int run_protected(const char *libraries)
{
    struct berth_err err;

    unsetenv("LD_LIBRARY_PATH");
    if (libraries && (setenv("LD_LIBRARY_PATH", libraries, 1) < 0 ||
                      setenv(LIBRARIES, libraries, 1) < 0))
        return 7;
    if (setenv(AGAIN, berth_installed_self(), 1) < 0)
        return 7;
    berth_program_protect(no_words, &err);
    return 8;
}

static const char *const libraries[] = {NULL, "", "/opt/lib", ":/opt/lib:"};

TEST_ROWS(a_program_of_the_user_runs_from_a_copy, libraries)
{
    pid_t child = fork();

    if (child == 0)
        _exit(run_protected(libraries[_i]));
    ck_assert_int_eq(unit_ended(child), 0);
}

/* A program of root's may be one that others execute, and do not read. */
TEST(a_program_of_root_runs_from_its_file)
{
    BERTH_FREE char *program = unit_path(unit_dir, "unread");

    if (geteuid() != 0)
        return;
    unit_run("chmod 755 %s; cp %s %s; chmod 711 %s", unit_dir, berth_installed_self(),
             program, program);
    unit_run(LONG "=1 setpriv --reuid=65534 --regid=65534 --clear-groups %s", program);
}

/* Start this program by a path that is too long for the name of memory. */
TEST(a_path_that_is_too_long_for_a_copy)
{
    BERTH_FREE char *directory = NULL, *program = NULL;
    char name[200];

    memset(name, 'x', sizeof(name));
    ck_assert_int_gt(asprintf(&directory, "%s/%.200s/%.100s", unit_dir, name, name), 0);
    program = unit_path(directory, "initfile");
    unit_run("mkdir -p %s; cp %s %s", directory, berth_installed_self(), program);
    unit_run("! " LONG "=1 %s 2>%s/said; grep -q 'an image could overwrite it, and its "
             "path is too long for a copy in "
             "memory; install berth at a path of at most 249 bytes' %s/said",
             program, unit_dir, unit_dir);
}

static const struct {
    const char *name;
    bool is_init;
} names[] = {
    {"berth-init", true},
    {"berth-init (deleted)", true},
    {"memfd:berth-init (deleted)", true},
    {"memfd:other (deleted)", false},
    {"my-berth-init", false},
    {"", false},
};

TEST_ROWS(the_name_of_its_process, names)
{
    ck_assert_int_eq(berth_program_is_init(names[_i].name), names[_i].is_init);
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
}
