/* SPDX-License-Identifier: Apache-2.0 */
/* How stages are made, found, and refused. */

#include "bindover/stage.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "install.h"
#include "staging.h"
#include "bindover/build.h"
#include "bindover/stagefiles.h"
#include "unit.h"

TEST(a_stage_is_found_until_the_host_changes)
{
    BERTH_FREE char *library = unit_path(host, "libmpi.so.12");
    BERTH_FREE char *first = NULL;
    struct berth_staged staged;

    staging_install();
    ck_assert_int_eq(staging_find(&staged), 0);
    staged = staging_make();
    first = strdup(staged.path);
    berth_staged_fini(&staged);
    ck_assert_int_eq(staging_find(&staged), 1);
    ck_assert_str_eq(staged.path, first);
    berth_staged_fini(&staged);
    staged = staging_make();
    ck_assert_str_eq(staged.path, first);
    berth_staged_fini(&staged);
    ck_assert_int_eq(staging_entries(""), 1);

    unit_run("cp '%s' '%s.new' && mv '%s.new' '%s'", library, library, library,
             library);
    ck_assert_int_eq(staging_find(&staged), 0);
    staged = staging_make();
    ck_assert_str_ne(staged.path, first);
    berth_staged_fini(&staged);
    ck_assert_int_eq(staging_find(&staged), 1);
    ck_assert_str_ne(staged.path, first);
    berth_staged_fini(&staged);
}

/* What may appear after a stage was made, in the directory of libraries: a command for
 * it, after another one, and the file in the next stage. */
static const struct {
    const char *before, *after;
    const char *file;
} changes[] = {
    {":",
     "patchelf --output ucx/libuct_new.so.0 --set-soname libuct_new.so.0 ucx/*_one.so",
     "lib/ucx/libuct_new.so.0"},
    {"mv ucx aside", "mv aside ucx", "lib/ucx/libuct_one.so"},
    {":", "mkdir -p ../etc/ucx && echo A=1 >../etc/ucx/ucx.conf", "etc/ucx/ucx.conf"},
    /* Fortran's library, which has a package of its own. */
    {"mv libmpifort.so.12 aside", "mv aside libmpifort.so.12", "lib/libmpifort.so.12"},
};

TEST_ROWS(what_appears_comes_along, changes)
{
    BERTH_FREE char *prefix = unit_path(directory, "host");
    BERTH_FREE char *copy = NULL;
    struct berth_staged staged;

    staging_install();
    unit_run("cd '%s' && %s", host, changes[_i].before);
    staging_find_stack("MPI_HOME", prefix, host);
    staged = staging_make();
    berth_staged_fini(&staged);
    ck_assert_int_eq(staging_find(&staged), 1);
    berth_staged_fini(&staged);
    unit_run("cd '%s' && %s", host, changes[_i].after);
    staging_find_stack("MPI_HOME", prefix, host);
    ck_assert_int_eq(staging_find(&staged), 0);
    staged = staging_make();
    copy = unit_path(staged.path, changes[_i].file);
    ck_assert_int_eq(access(copy, R_OK), 0);
    berth_staged_fini(&staged);
}

/* What mpi4py does with the wheels of an MPI: it loads one by its path, and then what
 * needs it by its SONAME, which is another at the host. A second name of the file is
 * what a mount over a file is. */
TEST(a_library_at_any_place_has_all_its_names)
{
    static const char *const names[] = {"libmpich.so.12", "libmpi.so.12"};
    BERTH_FREE char *other = unit_path(directory, "libother.so.1");
    BERTH_FREE char *staged_library = NULL;
    struct berth_staged staged;
    void *first;

    staging_install();
    staged = staging_make();
    staged_library = unit_path(staged.path, "lib/libmpi.so.12");
    ck_assert_int_eq(link(staged_library, other), 0);
    first = dlopen(other, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(first != NULL, "%s", dlerror());
    for (int i = 0; i < COUNT(names); i++)
        ck_assert_ptr_eq(dlopen(names[i], RTLD_NOW | RTLD_NOLOAD), first);
    berth_staged_fini(&staged);
}

/* Damages by a cleaner of /tmp and by a full disk. */
static const char *const damages[] = {
    "rm '%s/lib/libucs.so.0'",
    "rm '%s/mpi/libmpi.so'",
    ": >'%s/lib/ucx/libuct_one.so'",
    "rm '%s/manifest'",
    "sed -i 's/;[^;]*$//' '%s/manifest'",
    "sed -i 's/&mounted=[^;&]*/\\&mounted=x/' '%s/manifest'",
};

TEST_ROWS(a_damaged_stage_is_made_anew, damages)
{
    BERTH_FREE char *first = NULL;
    struct berth_staged staged;

    staging_install();
    staged = staging_make();
    first = strdup(staged.path);
    berth_staged_fini(&staged);
    unit_run(damages[_i], first);
    ck_assert_int_eq(staging_find(&staged), 0);
    staged = staging_make();
    ck_assert_str_ne(staged.path, first);
    berth_staged_fini(&staged);
    ck_assert_int_eq(staging_find(&staged), 1);
    berth_staged_fini(&staged);
}

TEST(a_full_disk_leaves_nothing)
{
    const struct rlimit limit = {.rlim_cur = 4096, .rlim_max = RLIM_INFINITY};
    const struct rlimit none = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    BERTH_FREE char *why = NULL;

    staging_install();
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    why = staging_refusal();
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
    ck_assert_ptr_nonnull(
        strstr(why, "'@/root': no room for a copy of the host's MPI (File too "
                    "large); make "));
    ck_assert_ptr_nonnull(strstr(why, " MB free, or have the administrators run 'berth "
                                      "profiles --prepare' on this node"));
    ck_assert_int_eq(staging_entries(""), 0);
}

/* A patchelf that does what SCRIPT says; first in PATH from now on. */
static void fake_patchelf(const char *script)
{
    BERTH_FREE char *bin = unit_path(directory, "bin");
    BERTH_FREE char *file = unit_path(bin, "patchelf");
    BERTH_FREE char *search = NULL;

    install_directory(bin);
    unit_script(file, script);
    search = unit_format("%s:/usr/bin:/bin", bin);
    ck_assert_int_eq(setenv("PATH", search, 1), 0);
}

/* One process makes the stage; the others wait for it, and copy nothing. */
TEST(several_makers_make_one)
{
    enum { MAKERS = 8, PATCHELFS = 3 }; /* the C library, Fortran's, and all paths */
    BERTH_FREE char *log = unit_path(directory, "log");
    BERTH_FREE char *script = NULL;
    struct berth_staged staged;
    struct stat st;

    staging_install();
    script = unit_format("echo >>'%s'; exec /usr/bin/patchelf \"$@\"", log);
    fake_patchelf(script);
    for (int i = 0; i < MAKERS; i++)
        if (fork() == 0) {
            struct berth_err err;

            if (berth_stage_make(stack, &root, 0, &staged, &err) == 0)
                _exit(0);
            fprintf(stderr, "%s\n", err.text);
            _exit(1);
        }
    for (int i = 0; i < MAKERS; i++) {
        int status;

        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_int_eq(staging_entries(""), 1);
    ck_assert_int_eq(staging_find(&staged), 1);
    ck_assert_int_eq(stat(log, &st), 0);
    ck_assert_int_eq(st.st_size, PATCHELFS);
    berth_staged_fini(&staged);
}

/* A copy that takes longer than a start may. */
TEST(a_copy_that_takes_too_long_leaves_nothing)
{
    struct berth_staged staged;
    struct berth_err err;

    staging_install();
    ck_assert_int_eq(berth_stage_make(stack, &root, berth_clock(), &staged, &err), -1);
    ck_assert_ptr_nonnull(
        strstr(err.text, "the host's MPI was not copied there in time (0 of "));
    ck_assert_ptr_nonnull(
        strstr(err.text, " files); submit the step again, have the administrators run "
                         "'berth profiles --prepare' on this node, or raise "
                         "runtime.start_timeout in berth.yaml"));
    ck_assert_int_eq(staging_entries(""), 0);
}

static const struct {
    const char *script;
    const char *start;
    const char *end;
} broken[] = {
    {"echo cannot write >&2; exit 1",
     "'@/bin/patchelf': could not change the copies in "
     "'",
     "': cannot write"},
    {"kill -9 $$", "'@/bin/patchelf': could not change the copies in '", "': Killed"},
};

TEST_ROWS(a_patchelf_that_fails_is_quoted, broken)
{
    BERTH_FREE char *why = NULL;
    size_t length = strlen(broken[_i].end);

    staging_install();
    fake_patchelf(broken[_i].script);
    why = staging_refusal();
    ck_assert_int_eq(strncmp(why, broken[_i].start, strlen(broken[_i].start)), 0);
    ck_assert_str_eq(why + strlen(why) - length, broken[_i].end);
    ck_assert_int_eq(staging_entries(""), 0);
}

static void await_file(const char *path)
{
    const struct timespec pause = {.tv_nsec = 10000000};

    for (int i = 0; i < 12000 && access(path, F_OK) < 0; i++)
        nanosleep(&pause, NULL);
    ck_assert_int_eq(access(path, F_OK), 0);
}

/* One is stopped in its middle. As long as it lives nobody touches its work, and others
 * wait for it; when it was killed the next one takes away what cannot be used. */
TEST(what_a_killed_maker_left_is_removed)
{
    BERTH_FREE char *mark = unit_path(directory, "mark");
    BERTH_FREE char *script = NULL;
    BERTH_FREE char *path = strdup(getenv("PATH"));
    struct berth_staged staged;
    struct berth_err err;
    int status, sleeper = 0;
    pid_t maker;
    FILE *file;

    staging_install();
    script = unit_format("echo $$ >'%s.new'; mv '%s.new' '%s'; exec sleep 600", mark,
                         mark, mark);
    fake_patchelf(script);
    maker = fork();
    if (maker == 0)
        _exit(berth_stage_make(stack, &root, 0, &staged, NULL) < 0);
    await_file(mark);
    ck_assert_int_eq(setenv("PATH", path, 1), 0);

    ck_assert_int_eq(berth_stage_make(stack, &root, berth_clock() + 300, &staged, &err),
                     -1);
    ck_assert_ptr_nonnull(strstr(
        err.text, "': another step still copies the host's MPI there; submit this "
                  "one again when that is done, have the administrators run"));
    ck_assert_int_eq(staging_entries(".new-"), 1);
    ck_assert_int_eq(staging_entries("mpich-"), 0);

    ck_assert_int_eq(kill(maker, SIGKILL), 0);
    ck_assert_int_eq(waitpid(maker, &status, 0), maker);
    file = fopen(mark, "r");
    ck_assert_int_eq(fscanf(file, "%d", &sleeper), 1);
    fclose(file);
    ck_assert_int_eq(kill(sleeper, SIGKILL), 0);
    ck_assert_int_eq(staging_entries(".new-"), 1);
    staged = staging_make();
    berth_staged_fini(&staged);
    ck_assert_int_eq(staging_entries(""), 1);
}

/* An upgrade while the copies are patched. */
TEST(a_host_that_changes_meanwhile_is_refused)
{
    BERTH_FREE char *script = NULL;
    BERTH_FREE char *why = NULL;

    staging_install();
    script = unit_format("echo >>%s/libucs.so.0; exec /usr/bin/patchelf \"$@\"", host);
    fake_patchelf(script);
    why = staging_refusal();
    ck_assert_str_eq(
        why, "'@/host/lib/libmpi.so.12': changed while it was copied; submit the "
             "step again when the host's MPI is installed");
    ck_assert_int_eq(staging_entries(""), 0);
}

/* Builds GATHERED where the stages are. Returns why that cannot be. */
static char *build_refusal(const struct berth_gathered *gathered)
{
    struct berth_err err;
    const struct berth_build build = {
        .dir = open(root.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        .path = root.path,
        .stack = stack,
        .gathered = gathered,
        .mounted = "/m",
        .err = &err};

    ck_assert_int_eq(berth_build(&build), -1);
    close(build.dir);
    return strdup(err.text);
}

/* It may be half written, which patchelf would call something else. */
TEST(a_file_that_changes_meanwhile_is_refused)
{
    BERTH_FREE char *why = NULL;
    BERTH_FREE char *expected = NULL;
    struct berth_gathered gathered;
    struct berth_err err;

    staging_install();
    install_directory(root.path);
    ck_assert_int_eq(berth_stagefiles_gather(stack, &gathered, &err), 0);
    unit_run("truncate -s 100 '%s/libucs.so.0'", host);
    why = build_refusal(&gathered);
    expected = unit_format("'%s/libucs.so.0': changed while it was copied; submit the "
                           "step again when the host's MPI is installed",
                           host);
    ck_assert_str_eq(why, expected);
    berth_gathered_fini(&gathered);
}

TEST(what_stands_in_the_way_is_told)
{
    BERTH_FREE char *in_the_way = unit_path(root.path, "lib/libmpi.so.12");
    BERTH_FREE char *expected = NULL;
    BERTH_FREE char *why = NULL;
    struct berth_gathered gathered;
    struct berth_err err;

    staging_install();
    install_directory(in_the_way);
    ck_assert_int_eq(berth_stagefiles_gather(stack, &gathered, &err), 0);
    why = build_refusal(&gathered);
    expected = unit_format("'%s': cannot be written: File exists", directory);
    ck_assert_str_eq(why, expected);
    berth_gathered_fini(&gathered);
}

TEST(a_root_that_takes_nothing_is_told)
{
    BERTH_FREE char *why = NULL;

    staging_install();
    free((char *)root.path);
    root.path = root.mounted = strdup("/proc/self/fdinfo");
    root.forbidden = 0222;
    why = staging_refusal();
    ck_assert_str_eq(
        why, "'/proc/self/fdinfo': cannot be written: No such file or directory");
}

static const struct {
    const char *command;
    uid_t other;
    const char *why;
} roots[] = {
    {"mkdir -m 0755 '%s'", 0, "'@/root': belongs to user "},
    {"ln -s /tmp '%s'", 0, "'@/root': cannot be opened: Not a directory"},
    {": >'%s'", 0, "'@/root': cannot be opened: Not a directory"},
    {"mkdir -m 0700 '%s'", 1, "'@/root': belongs to user "},
};

TEST_ROWS(a_root_that_is_not_ours_is_refused, roots)
{
    BERTH_FREE char *command = NULL;
    BERTH_FREE char *why = NULL;
    struct berth_staged staged;
    struct berth_err err;

    staging_install();
    unit_run(roots[_i].command, root.path);
    root.owner += roots[_i].other;
    why = staging_refusal();
    ck_assert_int_eq(strncmp(why, roots[_i].why, strlen(roots[_i].why)), 0);
    ck_assert_int_eq(berth_stage_find(stack, &root, &staged, &err), -1);
    root.owner -= roots[_i].other;
}

TEST(a_root_that_cannot_be_is_named)
{
    BERTH_FREE char *why = NULL;

    staging_install();
    free((char *)root.path);
    root.path = root.mounted = unit_path("/proc", "berth-stage");
    why = staging_refusal();
    ck_assert_str_eq(
        why, "'/proc/berth-stage': cannot be made, and the host's MPI is copied "
             "there: No such file or directory; have the administrators run "
             "'berth profiles --prepare' on this node");
}

TEST(a_root_without_exec_is_refused)
{
    BERTH_FREE char *why = NULL;

    staging_install();
    if (!unit_may_mount())
        return;
    root.owner = geteuid(); /* a user namespace may have another name for it */
    ck_assert_int_eq(mkdir(root.path, 0700), 0);
    ck_assert_int_eq(mount(root.path, root.path, NULL, MS_BIND, NULL), 0);
    ck_assert_int_eq(
        mount(NULL, root.path, NULL, MS_BIND | MS_REMOUNT | MS_NOEXEC, NULL), 0);
    why = staging_refusal();
    ck_assert_str_eq(
        why, "'@/root': is on a file system that is mounted noexec, where no library "
             "can be used; have the administrators run 'berth profiles --prepare' on "
             "this node");
    ck_assert_int_eq(staging_entries(""), 0);
    ck_assert_int_eq(umount2(root.path, MNT_DETACH), 0);
}

TEST(no_umask_makes_a_root_useless)
{
    struct stat status;
    int fd;

    staging_install();
    umask(0777);
    fd = berth_stage_root_open(&root, NULL);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(fd, &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0700);
    close(fd);
}

void unit_prepare(TCase *tests)
{
    tcase_add_unchecked_fixture(tests, staging_compile, staging_remove);
    tcase_add_checked_fixture(tests, staging_setup, staging_teardown);
}
