/* SPDX-License-Identifier: Apache-2.0 */
/* The MPI that a process has mapped. */

#include "bindover/mapped.h"

#include <dlfcn.h>
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

/* A library of MPI with tables that MPI_Init fills. Its name for itself differs, so
 * that the loader does not take one for another. */
static void make_mpi(const char *file, const char *build_id)
{
    unit_compile(unit_dir,
                 "int MPIR_Err_return_comm, PMPI_Init_thread;"
                 "const char abi[] = \"16:1:4\", number[] = \"4.2.1\";"
                 "char tables[1 << 17];"
                 "int PMPI_Init(void)"
                 "{ for (int i = 0; i < 1 << 17; i += 4096) tables[i] = 1; return 0; }"
                 "int MPI_Init(void) { return PMPI_Init(); }",
                 "-shared -fPIC -Wl,--build-id=%s -Wl,-Bsymbolic -o %s", build_id,
                 file);
}

static void setup(void)
{

    install_library(unit_dir, "mpich", "libmpi.so.12", "");
    unit_compile(unit_dir, "int nothing;", "-shared -fPIC -o libnone.so");
    unit_run("cd '%s' && mkdir -p stage/lib && mv libmpi.so.12 libmute.so && "
             "cp libnone.so stage/lib/libberth-mark.so && "
             "printf '\\0MPICH Version: %%%%s\\0**mpi_init' >libgone.so && "
             "printf '\\0MPICH Version: %%%%s' >libtool.so",
             unit_dir);
    make_mpi("libodd.so", "0x01010101");
    make_mpi("stage/lib/libmpi.so.12", "0x02020202");
    make_mpi("libcopy.so", "0x02020202");
}

/* Map FILE of the directory; `-FILE`: delete it then. */
static void map(const char *file)
{
    BERTH_FREE char *path = unit_path(unit_dir, file + (*file == '-'));
    BERTH_CLOSE int fd = open(path, O_RDONLY);

    if (fd < 0 || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
        (*file == '-' && unlink(path) < 0))
        _exit(EXIT_FAILURE);
}

/* Load the library FILE; `!FILE`: and call its MPI_Init. */
static void load(const char *file)
{
    bool calls = *file == '!';
    BERTH_FREE char *path = unit_path(unit_dir, file + calls);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*start)(void) = NULL;

    if (library)
        *(void **)&start = dlsym(library, "MPI_Init");
    if (!start || (calls && start() != 0))
        _exit(EXIT_FAILURE);
}

/* Do what WORD says: `FILE` maps it; `-FILE` maps and deletes it; `=FILE` loads it;
 * `!FILE` loads it and calls MPI_Init. */
static void act(const char *word)
{
    if (*word == '=')
        load(word + 1);
    else if (*word == '!')
        load(word);
    else
        map(word);
}

/* Do it in a child, which stops. */
static void act_apart(const char *word)
{
    pid_t child = fork();

    if (child > 0 && waitpid(child, NULL, WUNTRACED) == child)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    act(word);
    raise(SIGSTOP);
}

/* Do what FILES says, words with blanks between: after a `/`, in a child; `+WORD`, only
 * in a child. */
static void act_all(const char *files)
{
    BERTH_FREE char *words = strdup(files);

    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        if (*word == '+')
            act_apart(word + 1);
        else if (strcmp(word, "/") != 0)
            act(word);
        else if (fork() > 0)
            for (;;)
                pause();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
}

#define MARK "stage/lib/libberth-mark.so "
#define HOST "stage/lib/libmpi.so.12 "

static const struct {
    const char *files;
    bool is_staged;
    enum berth_answer_of_other answer;
    const char *path; /* the end of it */
    const char *name;
    bool is_initialized, is_idle;
} looks[] = {
    {.files = "libnone.so"},
    {.files = HOST},
    {.files = "=libodd.so", .is_idle = true},
    {"!libodd.so", false, BERTH_OTHER_ALONE, "/libodd.so", "MPICH 4.2.1", false, false},
    {"libnone.so / !libodd.so", false, BERTH_OTHER_ALONE, "/libodd.so", "MPICH 4.2.1",
     false, false},
    /* A program may read the file by way of its memory. */
    {"libodd.so", false, BERTH_OTHER_LOADED, "/libodd.so", "MPICH 4.2.1", false, false},
    /* The memory of this library does not show whether it is used. */
    {"libnone.so libmute.so", false, BERTH_OTHER_LOADED, "/libmute.so", "MPICH 4.2.1",
     false, false},

    {.files = MARK, .is_staged = true},
    {.files = MARK "=" HOST, .is_staged = true},
    {.files = MARK "!" HOST, .is_staged = true, .is_initialized = true},
    /* Two processes of a rank have an MPI each. */
    {"+!libodd.so " MARK "!" HOST, true, BERTH_OTHER_ALONE, "/libodd.so", "MPICH 4.2.1",
     true, false},
    {"+libmute.so " MARK "!" HOST, true, BERTH_OTHER_LOADED, "/libmute.so",
     "MPICH 4.2.1", true, false},
    {"+=libodd.so " MARK "!" HOST, true, BERTH_OTHER_NONE, NULL, NULL, true, true},
    {"+!libodd.so +libmute.so " MARK, true, BERTH_OTHER_ALONE, "/libodd.so",
     "MPICH 4.2.1", false, false},
    /* One process has both. */
    {"!libodd.so " MARK "=" HOST, true, BERTH_OTHER_BESIDE, "/libodd.so", "MPICH 4.2.1",
     false, false},
    {"libnone.so / " MARK "=" HOST "!libodd.so", true, BERTH_OTHER_BESIDE, "/libodd.so",
     "MPICH 4.2.1", false, false},
    {"!libodd.so " MARK "!" HOST, true, BERTH_OTHER_EITHER, "/libodd.so", "MPICH 4.2.1",
     true, false},
    {"=libodd.so " MARK "!" HOST, true, BERTH_OTHER_NONE, NULL, NULL, true, true},
    {"libmute.so " MARK "=" HOST, true, BERTH_OTHER_EITHER, "/libmute.so",
     "MPICH 4.2.1", false, false},
    /* It needs the staged library of the mark, if it is a copy of a staged one. */
    {"!libcopy.so " MARK, true, BERTH_OTHER_NONE, NULL, NULL, false, false},
    {"!libcopy.so", false, BERTH_OTHER_COPY, "/libcopy.so", "MPICH 4.2.1", false,
     false},
    {"!libcopy.so !libodd.so", false, BERTH_OTHER_ALONE, "/libodd.so", "MPICH 4.2.1",
     false, false},
    /* The files of these rows are deleted after the mapping. */
    {"-libgone.so", false, BERTH_OTHER_LOADED, "/libgone.so (deleted)", "MPICH", false,
     false},
    {.files = "-libtool.so"},
    {.files = "-libnone.so"},
};

TEST_ROWS(an_mpi_that_is_mapped_is_known, looks)
{
    struct berth_mapped_files files = {0};
    struct berth_mapped_seen seen;
    BERTH_FREE char *stage = unit_path(unit_dir, "stage");
    pid_t pid = unit_process(act_all, looks[_i].files);

    berth_mapped_add_stage(&files, stage, BERTH_MARK_LIBRARY, BERTH_MAPPED_STAGED);
    for (int again = 0; again < 2; again++) {
        berth_mapped_inspect(&files, pid, &seen);
        ck_assert_int_eq(seen.staged != NULL, looks[_i].is_staged);
        if (seen.staged)
            ck_assert_str_eq(seen.staged->stage, "stage");
        ck_assert_int_eq(seen.answer, looks[_i].answer);
        ck_assert_int_eq(seen.other != NULL, looks[_i].name != NULL);
        if (seen.other) {
            ck_assert_str_eq(strrchr(seen.other->path, '/'), looks[_i].path);
            ck_assert_str_eq(seen.other->name, looks[_i].name);
        }
        ck_assert_int_eq(seen.is_initialized, looks[_i].is_initialized);
        ck_assert_int_eq(seen.is_idle, looks[_i].is_idle);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    berth_mapped_inspect(&files, pid, &seen);
    ck_assert_int_eq(seen.answer, BERTH_OTHER_NONE);
    ck_assert_ptr_null(seen.other);
    ck_assert_ptr_null(seen.staged);
    berth_mapped_fini(&files);
}

/* Libraries of the host are used by a process that has mapped any of them. */
TEST(any_of_several_libraries_shows_the_use_of_a_stage)
{
    struct berth_mapped_files files = {0};
    struct berth_mapped_seen seen;
    BERTH_FREE char *stage = unit_path(unit_dir, "stage");
    pid_t pid = unit_process(act_all, "stage/lib/libmpi.so.12");

    berth_mapped_add_stage(&files, stage, BERTH_MARK_LIBRARY, BERTH_MAPPED_STAGED);
    berth_mapped_add_stage(&files, stage, "libmpi.so.12", BERTH_MAPPED_STAGED);
    berth_mapped_inspect(&files, pid, &seen);
    ck_assert_str_eq(seen.staged->stage, "stage");
    ck_assert(!seen.has_beside);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    berth_mapped_fini(&files);
}

/* They are no MPI. */
TEST(libraries_beside_an_mpi_are_seen)
{
    struct berth_mapped_files files = {0};
    struct berth_mapped_seen seen;
    BERTH_FREE char *stage = unit_path(unit_dir, "stage");
    pid_t pid = unit_process(act_all, "stage/lib/libmpi.so.12");

    berth_mapped_add_stage(&files, stage, "libmpi.so.12", BERTH_MAPPED_BESIDE);
    berth_mapped_inspect(&files, pid, &seen);
    ck_assert_ptr_null(seen.staged);
    ck_assert(seen.has_beside);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    berth_mapped_inspect(&files, pid, &seen);
    ck_assert(!seen.has_beside);
    berth_mapped_fini(&files);
}

void unit_prepare(TCase *tests)
{
    unit_share_directory(tests);
    tcase_add_unchecked_fixture(tests, setup, NULL);
}
