/* SPDX-License-Identifier: Apache-2.0 */
/* What an earlier step did, done again: with libraries that are compiled here, in a
 * mount namespace of the test's own, where it may have one. */

#include "bind/replay.h"

#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "step/channel.h"
#include "unit.h"

static char *top, *template;
static char *directory;
static char *program;
static char *command[3];
static struct berth_inside inside;
static struct berth_memo memo;
static struct berth_look look;
static struct berth_err err;
static char *const bare[] = {(char *)"PATH=/usr/bin:/bin", NULL};

extern char **environ;

static void shell(const char *text)
{
    BERTH_FREE char *line = NULL;

    ck_assert_int_gt(asprintf(&line, "cd '%s' && %s", directory, text), 0);
    ck_assert_int_eq(system(line), 0);
}

/* Take what is told, as berth-mpi does. */
static void take(int end)
{
    char text[BERTH_CHANNEL_SIZE];
    enum berth_channel_kind kind;

    for (;;) {
        char *second;

        ck_assert_int_eq(berth_channel_receive(end, NULL, &kind, text, &err), 0);
        if (kind == BERTH_CHANNEL_DONE)
            return;
        second = strchr(text, '\n');
        ck_assert_ptr_nonnull(second);
        *second++ = '\0';
        berth_memo_add(&memo,
                       kind == BERTH_CHANNEL_PROGRAM  ? BERTH_MEMO_PROGRAM
                       : kind == BERTH_CHANNEL_FILE   ? BERTH_MEMO_FILE
                       : kind == BERTH_CHANNEL_TARGET ? BERTH_MEMO_TARGET
                                                      : BERTH_MEMO_FOUND,
                       text, second);
    }
}

/* The memo of a step that mounted stage/libmpi.so.12 over image/libmpi.so.12. */
static void record(bool is_linked)
{
    BERTH_FREE char *stage = unit_path(directory, "stage");
    BERTH_FREE char *staged = unit_path(directory, "stage/libmpi.so.12");
    BERTH_FREE char *image = unit_path(directory, "image/libmpi.so.12");
    int ends[2];

    ck_assert_int_eq(berth_look_at(program, bare, &look, &err), 0);
    ck_assert_int_eq(berth_channel_open(ends, &err), 0);
    inside.channel = ends[0];
    ck_assert_int_eq(berth_replay_tell_look(&inside, program, &look, is_linked, &err),
                     0);
    ck_assert_int_eq(
        berth_replay_tell_list(ends[0], look.loader, look.runner, &look.closure, &err),
        0);
    ck_assert_int_eq(berth_channel_send(ends[0], BERTH_CHANNEL_DONE, "", &err), 0);
    take(ends[1]);
    close(ends[0]);
    close(ends[1]);
    berth_memo_add(&memo, BERTH_MEMO_STAGE, "/host/stage", stage);
    berth_memo_add(&memo, BERTH_MEMO_BIND, "/host/stage/libmpi.so.12", image);
    berth_memo_add(&memo, BERTH_MEMO_SET, "MPICH_X=1", "");
    ck_assert(!memo.failed);
}

/* What each test starts with, compiled once, in TOP/template. */
static void compile(void)
{
    top = unit_directory();
    directory = template = unit_path(top, "template");
    ck_assert_int_eq(mkdir(directory, 0755), 0);
    shell("mkdir image stage first");
    unit_compile(directory, "int MPI_Init(void) { return 0; } int image_one;",
                 "-shared -fPIC -Wl,-soname,libmpi.so.12 -o image/libmpi.so.12");
    unit_compile(directory, "int MPI_Init(void) { return 0; } int staged_one;",
                 "-shared -fPIC -Wl,-soname,libmpi.so.12 -o stage/libmpi.so.12");
    unit_compile(directory,
                 "int MPI_Init(void); int _start(void) { return MPI_Init(); }",
                 "-Wl,-rpath,%s/used/first:%s/used/image -Limage -l:libmpi.so.12 "
                 "-o app",
                 top, top);
}

static void clean(void)
{
    unit_remove(top);
    free(template);
    free(top);
}

static void setup(void)
{
    directory = unit_path(top, "used");
    unit_copy(template, directory);
    program = unit_path(directory, "app");
    command[0] = program;
    inside = (struct berth_inside){.command = command};
    memo = (struct berth_memo){0};
    look = (struct berth_look){0};
    record(true);
}

static void teardown(void)
{
    BERTH_FREE char *image = unit_path(directory, "image/libmpi.so.12");

    umount2(image, MNT_DETACH);
    berth_memo_fini(&memo);
    berth_look_fini(&look);
    unit_remove(directory);
    free(directory);
    free(program);
}

static bool may_mount(void)
{
    if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return false;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* Is the staged library over the image's? */
static bool is_mounted(void)
{
    BERTH_FREE char *staged = unit_path(directory, "stage/libmpi.so.12");
    BERTH_FREE char *image = unit_path(directory, "image/libmpi.so.12");
    struct stat a, b;

    ck_assert_int_eq(stat(staged, &a), 0);
    return stat(image, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

START_TEST(the_same_is_done_again)
{
    if (!may_mount())
        return;
    ck_assert(berth_replay_repeat(&inside, &memo));
    ck_assert(is_mounted());
    ck_assert_str_eq(getenv("MPICH_X"), "1");
}
END_TEST

static const char *const changes[] = {
    "cp app new && mv new app",                 /* the program, */
    "touch -d '1 hour ago' image/libmpi.so.12", /* one of its libraries, */
    "rm image/libmpi.so.12",
    "cp image/libmpi.so.12 first", /* one that is found before it, */
    "rm stage/libmpi.so.12 && ln -s . stage/libmpi.so.12", /* the stage */
    "chmod a-x app",
    "rm app",
};

START_TEST(what_has_changed_is_noticed)
{
    if (!may_mount())
        return;
    shell(changes[_i]);
    ck_assert_msg(!berth_replay_repeat(&inside, &memo), "%s", changes[_i]);
    ck_assert(!is_mounted());
}
END_TEST

/* They may name what it loads, where it is not linked with MPI. */
START_TEST(other_words_are_noticed_where_they_count)
{
    bool is_linked = _i == 0;

    if (!may_mount())
        return;
    berth_memo_fini(&memo);
    berth_look_fini(&look);
    record(is_linked);
    command[1] = (char *)"/home/u/script";
    ck_assert_int_eq(berth_replay_repeat(&inside, &memo), is_linked);
    command[1] = NULL;
    if (is_linked)
        return;
    ck_assert_int_eq(setenv("CONDA_PREFIX", "/home/u/conda", 1), 0);
    ck_assert(!berth_replay_repeat(&inside, &memo));
    ck_assert_int_eq(unsetenv("CONDA_PREFIX"), 0);
    ck_assert(berth_replay_repeat(&inside, &memo));
}
END_TEST

START_TEST(another_program_on_the_path_is_noticed)
{
    BERTH_FREE char *path = NULL;

    if (!may_mount())
        return;
    command[0] = (char *)"app";
    ck_assert_int_gt(asprintf(&path, "%s/first:%s:/usr/bin:/bin", directory, directory),
                     0);
    ck_assert_int_eq(setenv("PATH", path, 1), 0);
    ck_assert(berth_replay_repeat(&inside, &memo));
    shell("cp app first/app");
    ck_assert(!berth_replay_repeat(&inside, &memo));
}
END_TEST

START_TEST(another_answer_of_the_loader_is_noticed)
{
    struct berth_memo_record *last = NULL;

    if (!may_mount())
        return;
    for (size_t i = 0; i < memo.count; i++)
        if (memo.records[i].kind == BERTH_MEMO_FOUND)
            last = &memo.records[i];
    ck_assert_ptr_nonnull(last);
    if (_i == 0)
        last->kind = BERTH_MEMO_NOTE; /* one more than then */
    free(last->second);
    last->second = strdup("/elsewhere/lib.so");
    ck_assert(!berth_replay_repeat(&inside, &memo));
    ck_assert(!is_mounted());
}
END_TEST

START_TEST(a_stage_that_is_not_in_the_memo_is_nowhere)
{
    berth_memo_add(&memo, BERTH_MEMO_BIND, "/elsewhere/libmpi.so.12", "/dev/null");
    if (!may_mount())
        return;
    ck_assert(!berth_replay_repeat(&inside, &memo));
    ck_assert(!is_mounted());
}
END_TEST

/* Where another file system is mounted. */
static const struct {
    const char *place;
    bool is_bound;
} searched[] = {
    {"/usr/local/lib", false},
    {"/opt", false},
    {"/srv", true},
};

START_TEST(mounts_that_are_searched_are_noticed)
{
    char *env[] = {(char *)"LD_LIBRARY_PATH=/nowhere", NULL};

    if (!may_mount() || !berth_replay_is_bound(env) ||
        access(searched[_i].place, F_OK) < 0)
        return;
    ck_assert_int_eq(mount("none", searched[_i].place, "tmpfs", 0, NULL), 0);
    ck_assert_int_eq(berth_replay_is_bound(env), searched[_i].is_bound);
    env[0] = (char *)"LD_LIBRARY_PATH=/srv";
    if (searched[_i].is_bound)
        ck_assert(!berth_replay_is_bound(env));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("replay");

    tcase_add_unchecked_fixture(tests, compile, clean);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_same_is_done_again);
    tcase_add_loop_test(tests, what_has_changed_is_noticed, 0, COUNT(changes));
    tcase_add_test(tests, another_program_on_the_path_is_noticed);
    tcase_add_loop_test(tests, other_words_are_noticed_where_they_count, 0, 2);
    tcase_add_loop_test(tests, another_answer_of_the_loader_is_noticed, 0, 2);
    tcase_add_test(tests, a_stage_that_is_not_in_the_memo_is_nowhere);
    tcase_add_loop_test(tests, mounts_that_are_searched_are_noticed, 0,
                        COUNT(searched));
    return unit_run("replay", tests);
}
