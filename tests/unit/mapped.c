/* SPDX-License-Identifier: Apache-2.0 */
/* The MPI that a process has mapped. */

#include "bindover/mapped.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "install.h"
#include "ipc/loadmark.h"
#include "unit.h"

static char *directory;

static void setup(void)
{

    directory = unit_directory();
    install_library(directory, "mpich", "libmpi.so.12", "");
    unit_compile(directory, "int nothing;", "-shared -fPIC -o libnone.so");
    unit_run("cd '%s' && mkdir -p stage/lib && "
             "cp libmpi.so.12 stage/lib && "
             "cp libnone.so stage/lib/libberth-mark.so && "
             "mv libmpi.so.12 libodd.so && "
             "printf '\\0MPICH Version: %%%%s\\0**mpi_init' >libgone.so && "
             "printf '\\0MPICH Version: %%%%s' >libtool.so",
             directory);
}

static void teardown(void)
{
    unit_remove(directory);
    free(directory);
}

/* Map FILE of the directory; `-FILE`: delete it then. */
static void map(const char *file)
{
    BERTH_FREE char *path = unit_path(directory, file + (*file == '-'));
    BERTH_CLOSE int fd = open(path, O_RDONLY);

    if (fd < 0 || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
        (*file == '-' && unlink(path) < 0))
        _exit(EXIT_FAILURE);
}

/* Map FILE in a child, which stops. */
static void map_apart(const char *file)
{
    pid_t child = fork();

    if (child > 0 && waitpid(child, NULL, WUNTRACED) == child)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    map(file);
    raise(SIGSTOP);
}

/* Map FILES, with blanks between; behind a `/`, in a child; `+FILE`: only in a child.
 */
static void map_all(const char *files)
{
    BERTH_FREE char *words = strdup(files);

    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        if (*word == '+')
            map_apart(word + 1);
        else if (strcmp(word, "/") != 0)
            map(word);
        else if (fork() > 0)
            for (;;)
                pause();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
}

static const struct {
    const char *files;
    enum berth_mapped kind;
    const char *path; /* the end of it */
    const char *name;
} looks[] = {
    {"libnone.so", BERTH_MAPPED_NONE, NULL, NULL},
    {"libnone.so libodd.so", BERTH_MAPPED_OTHER, "/libodd.so", "MPICH 4.2.1"},
    {"libnone.so / libodd.so", BERTH_MAPPED_OTHER, "/libodd.so", "MPICH 4.2.1"},
    /* Two programs of one rank have an MPI each; two in one process are both. */
    {"+libodd.so stage/lib/libberth-mark.so", BERTH_MAPPED_STAGED, NULL, NULL},
    {"libnone.so / stage/lib/libberth-mark.so libodd.so", BERTH_MAPPED_BOTH,
     "/libodd.so", "MPICH 4.2.1"},
    {"stage/lib/libmpi.so.12 stage/lib/libberth-mark.so", BERTH_MAPPED_STAGED, NULL,
     NULL},
    {"stage/lib/libberth-mark.so libodd.so", BERTH_MAPPED_BOTH, "/libodd.so",
     "MPICH 4.2.1"},
    {"stage/lib/libmpi.so.12", BERTH_MAPPED_NONE, NULL, NULL},
    /* The files of these rows are deleted after the mapping. */
    {"-libgone.so", BERTH_MAPPED_OTHER, "/libgone.so (deleted)", "MPICH"},
    {"-libtool.so", BERTH_MAPPED_NONE, NULL, NULL},
    {"-libnone.so", BERTH_MAPPED_NONE, NULL, NULL},
};

TEST_ROWS(an_mpi_that_is_mapped_is_known, looks)
{
    struct berth_mapped_files files = {0};
    const struct berth_mapped_file *file;
    BERTH_FREE char *stage = unit_path(directory, "stage");
    pid_t pid = unit_process(map_all, looks[_i].files);

    berth_mapped_add_stage(&files, stage, BERTH_MARK_LIBRARY, BERTH_MAPPED_STAGED);
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(berth_mapped_inspect(&files, pid, &file), looks[_i].kind);
        if (looks[_i].kind == BERTH_MAPPED_STAGED)
            ck_assert_str_eq(file->stage, "stage");
        if (looks[_i].name) {
            ck_assert_str_eq(strrchr(file->path, '/'), looks[_i].path);
            ck_assert_str_eq(file->name, looks[_i].name);
        }
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ck_assert_int_eq(berth_mapped_inspect(&files, pid, &file), BERTH_MAPPED_NONE);
    ck_assert_ptr_null(file);
    berth_mapped_fini(&files);
}

/* Libraries of the host are used by a process that has mapped any of them. */
TEST(any_of_several_libraries_shows_the_use_of_a_stage)
{
    struct berth_mapped_files files = {0};
    const struct berth_mapped_file *file;
    BERTH_FREE char *stage = unit_path(directory, "stage");
    pid_t pid = unit_process(map_all, "stage/lib/libmpi.so.12");

    berth_mapped_add_stage(&files, stage, BERTH_MARK_LIBRARY, BERTH_MAPPED_STAGED);
    berth_mapped_add_stage(&files, stage, "libmpi.so.12", BERTH_MAPPED_STAGED);
    ck_assert_int_eq(berth_mapped_inspect(&files, pid, &file), BERTH_MAPPED_STAGED);
    ck_assert_str_eq(file->stage, "stage");
    ck_assert(!files.has_beside);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    berth_mapped_fini(&files);
}

/* They are no MPI. */
TEST(libraries_beside_an_mpi_are_seen)
{
    struct berth_mapped_files files = {0};
    const struct berth_mapped_file *file;
    BERTH_FREE char *stage = unit_path(directory, "stage");
    pid_t pid = unit_process(map_all, "stage/lib/libmpi.so.12");

    berth_mapped_add_stage(&files, stage, "libmpi.so.12", BERTH_MAPPED_BESIDE);
    ck_assert_int_eq(berth_mapped_inspect(&files, pid, &file), BERTH_MAPPED_NONE);
    ck_assert(files.has_beside);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ck_assert_int_eq(berth_mapped_inspect(&files, pid, &file), BERTH_MAPPED_NONE);
    ck_assert(!files.has_beside);
    berth_mapped_fini(&files);
}

void unit_prepare(TCase *tests)
{
    tcase_add_unchecked_fixture(tests, setup, teardown);
}
