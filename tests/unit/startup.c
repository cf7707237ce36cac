/* SPDX-License-Identifier: Apache-2.0 */
/* Which MPI of an image makes each task rank 0 of 1, and the sentences about it. */

#include "bindover/startup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "objects.h"
#include "unit.h"

#define MPICH_LIB                                                                      \
    "present /l/libmpich.so.12 library so=libmpich.so.12 def=PMPI_Init "               \
    "def=MPIR_Dup_fn text=PMI_FD"
#define OPENMPI_LIB                                                                    \
    "present /l/libmpi.so.40 library so=libmpi.so.40 def=PMPI_Init def=ompi_mpi_init"

#define STEP(count, manager) .tasks = count, .type = manager

static const struct {
    enum berth_mpi_family wants;
    enum berth_mpi_family bound[3]; /* NONE ends them */
    const char *tasks, *type;       /* SLURM_NTASKS; NULL: not set; SLURM_MPI_TYPE */
    const char *refused, *warned;   /* a part of the sentence; NULL: there is none */
    bool has_none;                  /* the image, of MPI */
    bool is_root;                   /* --container-remap-root */
    bool joins_user;                /* a container that was started without that */
} cases[] = {
    /* One of the image's own MPIs fits, and the program may use the other one. */
    {STEP("2", "pmi2"),
     .warned = "the image's Open MPI uses PMIx and the step has --mpi=pmi2, so each of "
               "the 2 tasks would be rank 0 of 1; use srun --mpi=pmix if this is the "
               "MPI that '/bin/sh' uses"},
    {STEP("2", "pmix"), .wants = BERTH_FAMILY_UNKNOWN, .warned = "use srun --mpi=pmi2"},
    {STEP("2", "none"), .refused = "use srun --mpi="},
    {STEP("1", "none")},
    {STEP(NULL, "none")},
    /* A program whose MPI is known. */
    {STEP("2", "pmi2"), .wants = BERTH_FAMILY_MPICH},
    {STEP("2", "pmix"), .wants = BERTH_FAMILY_MPICH, .bound = {BERTH_FAMILY_MPICH},
     .refused = "the host's MPICH uses PMI and the step has --mpi=pmix"},
    /* Only the host's MPIs count; the witness sees a rank that uses another one. */
    {STEP("2", "pmix"), .bound = {BERTH_FAMILY_MPICH},
     .refused = "the host's MPICH uses PMI and the step has --mpi=pmix"},
    {STEP("2", "pmi2"), .bound = {BERTH_FAMILY_MPICH}},
    {STEP("2", "pmi2"), .bound = {BERTH_FAMILY_MPICH, BERTH_FAMILY_OPENMPI},
     .warned = "the host's Open MPI uses PMIx and"},
    {STEP("2", "none"), .has_none = true},
    /* As root it reaches the PMIx server by munge alone; the host's does. */
    {STEP("1", "pmix"), .is_root = true, .wants = BERTH_FAMILY_OPENMPI,
     .refused =
         "--container-remap-root: the image's Open MPI ends in MPI_Init with "
         "--mpi=pmix if it runs as root, as Slurm's PMIx takes no credential of "
         "munge here; leave --container-remap-root out of this step, or have the "
         "host's MPI run (--mpi-bind=host)"},
    {STEP("2", "pmix"), .is_root = true, .joins_user = true,
     .wants = BERTH_FAMILY_OPENMPI},
    {STEP("2", "pmi2"), .is_root = true, .wants = BERTH_FAMILY_MPICH},
    {STEP("2", "pmix"), .is_root = true, .wants = BERTH_FAMILY_OPENMPI,
     .bound = {BERTH_FAMILY_OPENMPI}},
};

static const struct berth_request asked;

static char *const none[] = {NULL};
static const char *const image[] = {MPICH_LIB, OPENMPI_LIB, NULL};
static const char *const mpich[] = {MPICH_LIB, NULL};
static const char *const openmpi[] = {OPENMPI_LIB, NULL};

TEST_ROWS(tasks_are_not_left_alone_without_a_word, cases)
{
    const struct berth_request request = {.root = cases[_i].is_root ? BERTH_YES
                                                                    : BERTH_UNSAID};
    char tasks[24] = "", type[24] = "";
    char *task[] = {tasks, type, NULL};
    struct berth_replacement replacements[2] = {0};
    struct berth_program program = {.path = (char *)"/bin/sh",
                                    .wants = {.family = cases[_i].wants},
                                    .items = replacements};
    const struct berth_decide inside = {.task = task,
                                        .request = &request,
                                        .is_root =
                                            cases[_i].is_root && !cases[_i].joins_user};
    struct berth_err err;

    if (cases[_i].tasks)
        snprintf(tasks, sizeof(tasks), "SLURM_NTASKS=%s", cases[_i].tasks);
    snprintf(type, sizeof(type), "SLURM_MPI_TYPE=%s", cases[_i].type);
    if (!cases[_i].has_none)
        unit_objects(&program.scan.objects, image);
    for (; cases[_i].bound[program.count] != BERTH_FAMILY_NONE; program.count++) {
        struct berth_replacement *it = &replacements[program.count];

        it->family = cases[_i].bound[program.count];
        unit_objects(&it->staged, it->family == BERTH_FAMILY_MPICH ? mpich : openmpi);
    }
    ck_assert_int_eq(berth_startup_check(&inside, &program, none, &err),
                     cases[_i].refused ? -1 : 0);
    if (cases[_i].refused) {
        ck_assert_ptr_nonnull(strstr(err.text, cases[_i].refused));
    } else {
        if (cases[_i].warned)
            ck_assert_ptr_nonnull(strstr(program.alone.text, cases[_i].warned));
        else
            ck_assert_str_eq(program.alone.text, "");
        ck_assert_ptr_eq(program.alone_replacement,
                         program.count > 1 ? &replacements[1] : NULL);
    }
    berth_mpi_objects_fini(&program.scan.objects);
    for (int i = 0; i < program.count; i++)
        berth_mpi_objects_fini(&replacements[i].staged);
}

/* An interpreter in a virtual environment finds what is beside it. */
TEST(what_is_beside_the_interpreter_is_meant)
{
    static const struct {
        const char *runner; /* below a directory with v/lib/ */
        const char *type;
        const char *said; /* NULL: nothing; with pmi2 in the warning */
        int result;
        int bound; /* the number of the host's MPIs that are mounted */
    } runners[] = {
        {"v/bin/python3", "pmi2", NULL, 0, 0},
        {"v/bin/python3", "pmix", "the image's MPICH uses PMI", -1, 0},
        {"w/bin/python3", "pmi2", "the image's Open MPI uses PMIx", 0, 0},
        /* A program that it starts may load what is mounted. */
        {"v/bin/python3", "pmi2", "the host's Open MPI uses PMIx", 0, 2},
        {"v/bin/python3", "pmix", "the host's MPICH uses PMI", -1, 2},
    };
    struct berth_replacement replacements[] = {{.family = BERTH_FAMILY_MPICH},
                                               {.family = BERTH_FAMILY_OPENMPI}};
    BERTH_FREE char *directory = unit_directory();
    BERTH_FREE char *real = realpath(directory, NULL);
    BERTH_FREE char *prefix = unit_path(real, "v");
    BERTH_FREE char *lib = unit_path(prefix, "lib");
    BERTH_FREE char *library = NULL;

    unit_objects(&replacements[0].staged, mpich);
    unit_objects(&replacements[1].staged, openmpi);
    ck_assert_int_eq(mkdir(prefix, 0755), 0);
    ck_assert_int_eq(mkdir(lib, 0755), 0);
    library = unit_format("present %s/libmpi.so.12 library so=libmpi.so.12 "
                          "def=PMPI_Init def=MPIR_Dup_fn text=PMI_FD",
                          lib);
    for (int i = 0; i < COUNT(runners); i++) {
        const char *const both[] = {library, OPENMPI_LIB, NULL};
        char type[32];
        char *task[] = {(char *)"SLURM_NTASKS=2", type, NULL};
        struct berth_program program = {
            .scan = {.runner = unit_path(directory, runners[i].runner)},
            .items = replacements,
            .count = runners[i].bound};
        const struct berth_decide inside = {.task = task, .request = &asked};
        struct berth_err err = {0};

        snprintf(type, sizeof(type), "SLURM_MPI_TYPE=%s", runners[i].type);
        program.path = program.scan.runner;
        unit_objects(&program.scan.objects, both);
        ck_assert_int_eq(berth_startup_check(&inside, &program, none, &err),
                         runners[i].result);
        if (runners[i].said)
            ck_assert_ptr_nonnull(strstr(
                runners[i].result ? err.text : program.alone.text, runners[i].said));
        else
            ck_assert_str_eq(program.alone.text, "");
        if (runners[i].bound && runners[i].result == 0)
            ck_assert_ptr_eq(program.alone_replacement, &replacements[1]);
        berth_mpi_objects_fini(&program.scan.objects);
        free(program.scan.runner);
    }
    for (int i = 0; i < COUNT(replacements); i++)
        berth_mpi_objects_fini(&replacements[i].staged);
    unit_remove(directory);
}

#define ABI_LIB                                                                        \
    "present /l/libmpi_abi.so.1 library so=libmpi_abi.so.1 def=PMPI_Init "             \
    "def=ompi_mpi_init"
#define INTEL(name)                                                                    \
    "present /i/" name " library so=" name " def=PMPI_Init "                           \
    "def=I_MPI_Check_image_status def=MPIR_Dup_fn"
#define INTEL_LIB     INTEL("libmpi.so.12")
#define INTEL_ABI_LIB INTEL("libmpi_abi.so.1")
#define KEEPS                                                                          \
    "programs that use the MPI standard ABI keep the image's Open MPI "                \
    "(libmpi_abi.so.1)"
#define STAYS "the image has another MPI, which stays: "

static const struct {
    const char *image[4];
    enum berth_mpi_family wants;
    struct {
        enum berth_mpi_family family;
        const char *because;
    } bound[3]; /* NULL ends them */
    const char *said;
    const char *rest; /* without what nobody can change */
} installs[] = {
    {{MPICH_LIB, OPENMPI_LIB},
     BERTH_FAMILY_NONE,
     {{BERTH_FAMILY_MPICH, "one"}, {BERTH_FAMILY_OPENMPI, "two"}},
     "one; two",
     "two"},
    {{MPICH_LIB, OPENMPI_LIB},
     BERTH_FAMILY_MPICH,
     {{BERTH_FAMILY_MPICH, "one"}},
     "one",
     ""},
    {{MPICH_LIB, OPENMPI_LIB},
     BERTH_FAMILY_NONE,
     {{BERTH_FAMILY_MPICH, "one"}},
     "one; " STAYS "Open MPI",
     STAYS "Open MPI"},
    /* Open MPI 6: its own family, and the standard ABI. */
    {{OPENMPI_LIB, ABI_LIB},
     BERTH_FAMILY_NONE,
     {{BERTH_FAMILY_OPENMPI, "one"}, {BERTH_FAMILY_ABI, "one"}},
     "one",
     "one"},
    {{MPICH_LIB, OPENMPI_LIB, ABI_LIB},
     BERTH_FAMILY_NONE,
     {{BERTH_FAMILY_MPICH, "one"}},
     "one; " STAYS "Open MPI",
     STAYS "Open MPI"},
    /* The host's MPI has no library for the standard ABI. */
    {{MPICH_LIB, INTEL_LIB, INTEL_ABI_LIB},
     BERTH_FAMILY_NONE,
     {{BERTH_FAMILY_MPICH, "one"}},
     "one; programs that use the MPI standard ABI keep the image's Intel MPI "
     "(libmpi_abi.so.1)",
     "programs that use the MPI standard ABI keep the image's Intel MPI "
     "(libmpi_abi.so.1)"},
    {{OPENMPI_LIB, ABI_LIB},
     BERTH_FAMILY_NONE,
     {{BERTH_FAMILY_OPENMPI, "one"}},
     "one; " KEEPS,
     KEEPS},
};

TEST_ROWS(an_install_is_named_once, installs)
{
    struct berth_replacement replacements[2] = {0};
    struct berth_program program = {.wants = {.family = installs[_i].wants},
                                    .items = replacements};
    BERTH_BUF struct berth_buf text = {0};
    BERTH_BUF struct berth_buf rest = {0};

    unit_objects(&program.scan.objects, installs[_i].image);
    for (; installs[_i].bound[program.count].because; program.count++) {
        struct berth_replacement *replacement = &replacements[program.count];

        replacement->family = installs[_i].bound[program.count].family;
        berth_err_set(&replacement->verdict.because, "%s",
                      installs[_i].bound[program.count].because);
    }
    berth_startup_name(&program, true, &text);
    ck_assert_str_eq(text.text, installs[_i].said);
    replacements[0].verdict.answer = BERTH_VERDICT_YES_WITH_HOST_GLIBC;
    berth_startup_name(&program, false, &rest);
    ck_assert_str_eq(rest.used ? rest.text : "", installs[_i].rest);
    berth_mpi_objects_fini(&program.scan.objects);
}

static const struct {
    enum berth_mpi_family wants;
    const char *type;
    const char *contact; /* in the container; NULL: the runtime removes it */
    struct berth_mpi_reach reach;
    const char *said; /* NULL: the tasks find each other */
} places[] = {
    {BERTH_FAMILY_MPICH, "pmi2", "PMI_FD=8", {0}, NULL},
    {BERTH_FAMILY_MPICH,
     "pmi2",
     "PMI_FD=8",
     {.separate = 2, .nodes = 1, .pid = true},
     "the image's MPICH cannot connect them"},
    /* The program may use neither MPI. */
    {BERTH_FAMILY_NONE,
     "pmi2",
     "PMI_FD=8",
     {.separate = 2, .nodes = 1, .pid = true},
     "the image's MPICH cannot connect them"},
    {BERTH_FAMILY_NONE,
     "pmix",
     "PMI_FD=8",
     {.separate = 2, .nodes = 1, .pid = true},
     "the image's Open MPI cannot connect them"},
    {BERTH_FAMILY_MPICH, "pmi2", NULL, {0}, "removes PMI_FD, by which the image's "},
    /* Slurm refuses pmi2 where components share an allocation. */
    {BERTH_FAMILY_MPICH,
     "pmix",
     "PMI_FD=8",
     {.het_step = true},
     "use srun --mpi=pmi2, which for several components needs a heterogeneous job "
     "(#SBATCH hetjob, or srun outside a job)"},
};

TEST_ROWS(what_the_container_takes_away_counts, places)
{
    char type[32];
    char *task[] = {(char *)"SLURM_NTASKS=2", type, (char *)"PMI_FD=8", NULL};
    char *container[] = {(char *)places[_i].contact, NULL};
    struct berth_program program = {.path = (char *)"/bin/a",
                                    .wants = {.family = places[_i].wants}};
    const struct berth_decide inside = {
        .task = task, .request = &asked, .reach = places[_i].reach};
    struct berth_err err;

    snprintf(type, sizeof(type), "SLURM_MPI_TYPE=%s", places[_i].type);
    unit_objects(&program.scan.objects, image);
    ck_assert_int_eq(berth_startup_check(&inside, &program, container, &err),
                     places[_i].said ? -1 : 0);
    if (places[_i].said)
        ck_assert_ptr_nonnull(strstr(err.text, places[_i].said));
    berth_mpi_objects_fini(&program.scan.objects);
}
