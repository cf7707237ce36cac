/* SPDX-License-Identifier: Apache-2.0 */
/* What berth inspect prints about files and images, which need not exist. JSON is
 * compared with tests/golden. */

#include "cli/inspection.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "objects.h"
#include "unit.h"

#define CALLS "def=MPI_Init def=PMPI_Init def=MPI_Send "
#define MPICH                                                                          \
    "loaded /usr/lib/libmpich.so.12 library so=libmpich.so.12 "                        \
    "need=libpmi2.so.0 " CALLS                                                         \
    "def=MPIR_Err_return_comm def=MPIR_Dup_fn text=16:1:4 text=4.2.1"
#define GLIBC                                                                          \
    "loaded /lib/libc.so.6 library so=libc.so.6 vdef=GLIBC_2.17 vdef=GLIBC_2.36"

/* An inspection, and the text that describes it. */
static const struct {
    struct berth_inspection seen; /* without what the fixture sets */
    bool is_missing;              /* the loader does not find libx.so.1 */
    const char *objects[6];
    const char *text;
} cases[] = {
    {.seen.image = "a.sif",
     .seen.machine = "x86_64",
     .seen.file = "/bin/app",
     .objects = {"program /bin/app program need=libmpich.so.12 need=libc.so.6 "
                 "ver=libc.so.6:GLIBC_2.34 ver=libm.so.6:GLIBC_2.34 "
                 "ver=libx.so.1:X_1 und=MPI_Init und=MPI_Send",
                 MPICH, GLIBC},
     .text = "a.sif: SIF file, for x86_64\n"
             "/bin/app: program, for x86_64\n"
             "  loader: /lib64/ld-linux-x86-64.so.2\n"
             "  needs: libmpich.so.12, libc.so.6\n"
             "  versions of glibc that it needs: GLIBC_2.34\n"
             "  C library: glibc, up to GLIBC_2.36\n"
             "  linked with MPI: MPICH\n"
             "  uses: C\n"
             "  MPI symbols that it needs: 2\n"
             "  loads MPICH 4.2.1: /usr/lib/libmpich.so.12 (C)\n"
             "  MPICH runs with srun --mpi: pmi2\n"
             "  --mpi-bind=mpich (MPICH 4.3.0): yes: the same ABI\n"},
    /* the image as a whole */
    {.seen.image = "/images/b",
     .seen.kind = BERTH_IMAGE_SANDBOX,
     .objects = {"present /usr/lib/libmpi.so.40 library so=libmpi.so.40 " CALLS
                 "def=ompi_mpi_init data=ompi_mpi_comm_world:512 text=4.1.4",
                 "present /opt/intel/libmpi.so.12 library so=libmpi.so.12 " CALLS
                 "def=MPIR_Dup_fn def=I_MPI_Check_image_status text=2021.19.0",
                 "present /lib/ld-musl-x86_64.so.1 library so=ld-musl-x86_64.so.1"},
     .text = "/images/b: sandbox directory\n"
             "  C library: musl\n"
             "  has Open MPI 4.1.4: /usr/lib/libmpi.so.40 (C)\n"
             "  has Intel MPI 2021.19.0: /opt/intel/libmpi.so.12 (C)\n"
             "  Open MPI runs with srun --mpi: pmix\n"},
    {.seen.image = "empty.sif",
     .seen.machine = "aarch64",
     .text = "empty.sif: SIF file, for aarch64\n"
             "  C library: none was found\n"
             "  MPI: none was found\n"},
    /* programs of every kind */
    {.seen.file = "/bin/sudo",
     .seen.is_privileged = true,
     .is_missing = true,
     .objects =
         {"program /bin/sudo program need=libx.so.1 interp=/lib/ld-musl-x86_64.so.1",
          "loaded /lib/libc.musl-x86_64.so.1 library so=libc.musl-x86_64.so.1"},
     .text = "/bin/sudo: program, for x86_64, setuid or setgid\n"
             "  loader: /lib/ld-musl-x86_64.so.1\n"
             "  needs: libx.so.1\n"
             "  C library: musl\n"
             "  linked with MPI: no\n"
             "  not found: libx.so.1\n"},
    {.seen.file = "old",
     .objects = {"program old static bits=32 machine="},
     .text = "old: program, for an unknown machine, 32 bits, static\n  linked with "
             "MPI: unknown for a static program\n"},
    {.seen.file = "part",
     .objects = {"program part program need=libc.so.6 text=**mpi_init "
                 "text=MPIR_CVAR_ERROR_CHECKING text=14:2:2 text=4.0.2 text=PMI_FD",
                 GLIBC},
     .text = "part: program, for x86_64\n"
             "  loader: /lib64/ld-linux-x86-64.so.2\n"
             "  needs: libc.so.6\n"
             "  C library: glibc, up to GLIBC_2.36\n"
             "  linked with MPI: statically (MPICH 4.0.2)\n"
             "  MPICH runs with srun --mpi: pmi2\n"},
    {.seen.file = "user",
     .objects = {"program user program need=libown.so",
                 "loaded /lib/libown.so library so=libown.so text=**mpi_init "
                 "text=MPIR_CVAR_ERROR_CHECKING",
                 GLIBC},
     .text = "user: program, for x86_64\n"
             "  loader: /lib64/ld-linux-x86-64.so.2\n"
             "  needs: libown.so\n"
             "  C library: glibc, up to GLIBC_2.36\n"
             "  linked with MPI: statically (MPICH, in /lib/libown.so)\n"},
    {.seen.file = "run.sh",
     .seen.runner = "/usr/bin/dash",
     .objects = {"program run.sh script bits=0 interp=/bin/sh", GLIBC},
     .text = "run.sh: script\n"
             "  interpreter: /bin/sh\n"
             "  run by: /usr/bin/dash\n"
             "  C library: glibc, up to GLIBC_2.36\n"
             "  linked with MPI: no\n"},
    {.seen.file = "both",
     .objects = {"program both program need=libmpich.so.12 und=MPI_Init "
                 "copy=ompi_mpi_int:352",
                 MPICH},
     .text = "both: program, for x86_64\n"
             "  loader: /lib64/ld-linux-x86-64.so.2\n"
             "  needs: libmpich.so.12\n"
             "  linked with MPI, with marks of: MPICH, Open MPI\n"
             "  uses: C\n"
             "  MPI symbols that it needs: 2\n"
             "  loads MPICH 4.2.1: /usr/lib/libmpich.so.12 (C)\n"
             "  MPICH runs with srun --mpi: pmi2\n"},
    {.seen.file = "libmpi.so",
     .objects = {"program libmpi.so library so=libmpi.so.40 need=libpmix.so.2 " CALLS
                 "def=ompi_mpi_init data=ompi_mpi_comm_world:512"},
     .text = "libmpi.so: library, for x86_64\n"
             "  SONAME: libmpi.so.40\n"
             "  needs: libpmix.so.2\n"
             "  it is Open MPI\n"
             "  Open MPI runs with srun --mpi: pmix\n"},
};

static struct berth_profile profile = {.stack = "mpich"};
static const struct berth_stack stack = {.profile = &profile,
                                         .version = (char *)"MPICH 4.3.0"};
static const struct berth_mpi_verdict verdict = {.answer = BERTH_VERDICT_YES,
                                                 .because = {"the same ABI"}};

struct fixture {
    struct berth_mpi_objects objects;
    struct berth_mpi_program wants;
    struct berth_inspection seen;
};

static void setup(struct fixture *fixture, int number)
{
    static struct berth_closure_item item = {.soname = (char *)"libx.so.1"};
    static const struct berth_closure closure = {.items = &item, .count = 1};
    struct berth_err err;

    *fixture = (struct fixture){0};
    unit_objects(&fixture->objects, cases[number].objects);
    ck_assert_int_eq(berth_mpi_program_read(&fixture->objects, &fixture->wants, &err),
                     0);
    fixture->seen = cases[number].seen;
    fixture->seen.objects = &fixture->objects;
    fixture->seen.closure = cases[number].is_missing ? &closure : NULL;
    fixture->seen.wants = fixture->seen.file ? &fixture->wants : NULL;
    fixture->seen.stacks = &stack;
    fixture->seen.verdicts = &verdict;
    fixture->seen.verdict_count = fixture->seen.image && fixture->seen.file;
}

static void teardown(struct fixture *fixture)
{
    berth_mpi_program_fini(&fixture->wants);
    berth_mpi_objects_fini(&fixture->objects);
}

TEST_ROWS(the_text_has_a_line_for_each_thing, cases)
{
    BERTH_JSON struct berth_json json = {.is_text = true};
    struct fixture fixture;

    setup(&fixture, _i);
    berth_inspect_write(&fixture.seen, &json);
    ck_assert_str_eq(json.text.text, cases[_i].text);
    teardown(&fixture);
}

/* All cases, one behind the other. */
TEST(the_json_has_all_members)
{
    BERTH_BUF struct berth_buf all = {0};
    BERTH_FREE char *golden = unit_golden("inspect.json");

    for (int i = 0; i < COUNT(cases); i++) {
        BERTH_JSON struct berth_json json = {.pretty = true};
        struct fixture fixture;

        setup(&fixture, i);
        berth_inspect_write(&fixture.seen, &json);
        ck_assert(!json.text.failed);
        berth_buf_puts(&all, json.text.text);
        berth_buf_puts(&all, "\n");
        teardown(&fixture);
    }
    unit_join(all.text);
    unit_join(golden);
    ck_assert_str_eq(all.text, golden);
}
