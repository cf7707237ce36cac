/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts against the loader of this machine: libraries and programs are compiled
 * here, their files are read, and then the program is really started on the other
 * library. */

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "elf/closure.h"
#include "mpi/names.h"
#include "mpi/verdict.h"
#include "unit.h"

#define FUNCTION(name) "void " name "(void) { }\n"
#define WORLD(longs)   "long ompi_mpi_comm_world[" longs "];\n"
#define CALLS          FUNCTION("MPI_Init") FUNCTION("PMPI_Init")
#define OLD_MPICH      CALLS FUNCTION("MPIR_Dup_fn")
#define SEND           FUNCTION("MPI_Send")
#define MPICH          OLD_MPICH SEND
#define OPENMPI        CALLS FUNCTION("ompi_mpi_init") WORLD("8")
#define NEW_OPENMPI    CALLS FUNCTION("ompi_mpi_init") WORLD("9")
#define PRIVATE        "int mpipriv1_[9];\n"
#define MPICH_FORT     FUNCTION("mpi_init_") FUNCTION("pmpi_init_") PRIVATE

/* Programs end by themselves, without a C library's start. */
#define START(body)                                                                    \
    "void _exit(int);\nvoid MPI_Init(void);\nvoid MPI_Send(void);\n"                   \
    "void mpi_init_(void);\nextern long ompi_mpi_comm_world[8];\n"                     \
    "void _start(void) { " body " _exit(0); }\n"
#define C_PROGRAM    START("MPI_Init(); MPI_Send();")
#define OMPI_PROGRAM START("MPI_Init(); ompi_mpi_comm_world[0]++;")
#define F_PROGRAM    START("mpi_init_();")

static const struct {
    const char *image[2]; /* libmpi.so.12, libmpifort.so.12 */
    const char *host[2];
    const char *program;
    enum berth_mpi_answer answer;
    bool runs; /* whatever the verdict */
} pairs[] = {
    {{MPICH}, {MPICH}, C_PROGRAM, BERTH_VERDICT_YES, true},
    {{MPICH}, {OLD_MPICH}, C_PROGRAM, BERTH_VERDICT_NO, false},
    {{MPICH, MPICH_FORT}, {MPICH, MPICH_FORT}, F_PROGRAM, BERTH_VERDICT_YES, true},
    {{MPICH, MPICH_FORT}, {MPICH}, F_PROGRAM, BERTH_VERDICT_NO, false},
    {{MPICH}, {OLD_MPICH, MPICH_FORT SEND}, C_PROGRAM, BERTH_VERDICT_NO, false},
    {{OPENMPI}, {OPENMPI}, OMPI_PROGRAM, BERTH_VERDICT_YES, true},
    {{OPENMPI}, {MPICH}, OMPI_PROGRAM, BERTH_VERDICT_NO, false},
    /* The loader accepts these, and a real MPI would crash. */
    {{MPICH}, {OPENMPI "void MPI_Send(void) { }\n"}, C_PROGRAM, BERTH_VERDICT_NO, true},
    {{OPENMPI}, {NEW_OPENMPI}, OMPI_PROGRAM, BERTH_VERDICT_NO, true},
};

/* Compile the libraries of a side into its directory. */
static void make_side(const char *side, const char *const sources[2])
{
    static const char *const names[] = {"libmpi.so.12", "libmpifort.so.12"};
    BERTH_FREE char *path = unit_path(unit_dir, side);

    ck_assert_int_eq(mkdir(path, 0755), 0);
    for (int i = 0; i < 2; i++)
        if (sources[i])
            unit_compile(unit_dir, sources[i], "-shared -fPIC -Wl,-soname,%s -o %s/%s",
                         names[i], side, names[i]);
}

/* Run the program with the libraries of SIDE and VARIABLE set; what it says goes to
 * TEXT. Returns its wait status. */
static int run(const char *side, const char *variable, char *text, size_t size)
{
    BERTH_FREE char *command = NULL;
    FILE *pipe;
    size_t got;

    command = unit_format("LD_LIBRARY_PATH='%s/%s' %s=1 '%s/program' 2>&1", unit_dir,
                          side, variable, unit_dir);
    pipe = popen(command, "r");
    got = fread(text, 1, size - 1, pipe);
    text[got] = '\0';
    return pclose(pipe);
}

static void add(struct berth_mpi_objects *objects, enum berth_mpi_role role,
                const char *soname, const char *path)
{
    BERTH_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct berth_err err = {0};
    struct berth_elf elf;

    ck_assert_msg(berth_elf_read(fd, &berth_mpi_question, &elf, &err) == 0, "%s: %s",
                  path, err.text);
    ck_assert_int_eq(berth_mpi_objects_add(objects, role, soname, path, &elf, &err), 0);
}

static void read_image(struct berth_mpi_objects *image)
{
    BERTH_FREE char *path = NULL;
    struct berth_closure closure;
    char text[8192];

    run("image", "LD_TRACE_LOADED_OBJECTS", text, sizeof(text));
    ck_assert_int_eq(berth_closure_parse(text, strlen(text), &closure, NULL), 0);
    path = unit_path(unit_dir, "program");
    add(image, BERTH_ROLE_PROGRAM, NULL, path);
    for (size_t i = 0; i < closure.count; i++)
        add(image, BERTH_ROLE_LOADED, closure.items[i].soname, closure.items[i].path);
    berth_closure_fini(&closure);
}

static void read_host(struct berth_mpi_objects *host, const char *const sources[2])
{
    static const char *const names[] = {"libmpi.so.12", "libmpifort.so.12"};

    for (int i = 0; i < 2; i++) {
        BERTH_FREE char *path = unit_format("%s/host/%s", unit_dir, names[i]);
        if (sources[i])
            add(host, BERTH_ROLE_LOADED, names[i], path);
    }
}

TEST_ROWS(the_loader_agrees, pairs)
{
    struct berth_mpi_objects image = {0}, host = {0};
    struct berth_mpi_program program;
    struct berth_mpi_verdict verdict;
    char text[8192];
    int status;

    make_side("image", pairs[_i].image);
    make_side("host", pairs[_i].host);
    unit_compile(unit_dir, pairs[_i].program,
                 "-fno-pie -no-pie -Wl,-z,lazy image/*.so.12 -lc -o program");
    read_image(&image);
    read_host(&host, pairs[_i].host);
    ck_assert_int_eq(berth_mpi_program_read(&image, &program, NULL), 0);
    ck_assert_int_eq(berth_mpi_judge(&program, &image, &host, &verdict, NULL), 0);
    ck_assert_msg(verdict.answer == pairs[_i].answer, "%d: %s", verdict.answer,
                  verdict.because.text);
    status = run("image", "LD_BIND_NOW", text, sizeof(text));
    ck_assert_msg(status == 0, "%s", text);
    status = run("host", "LD_BIND_NOW", text, sizeof(text));
    ck_assert_msg((status == 0) == pairs[_i].runs, "%s", text);
    berth_mpi_verdict_fini(&verdict);
    berth_mpi_program_fini(&program);
    berth_mpi_objects_fini(&image);
    berth_mpi_objects_fini(&host);
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
}
