/* SPDX-License-Identifier: Apache-2.0 */
/* What programs need of MPI, by the files that they load. */

#include "mpi/program.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "objects.h"
#include "unit.h"

#define MPICH_LIB                                                                      \
    "loaded /usr/lib/libmpi.so.12 library so=libmpi.so.12 need=libuct.so.0 "           \
    "def=MPI_Init def=PMPI_Init def=MPI_Send def=MPIR_Err_return_comm"
#define OPENMPI_LIB                                                                    \
    "loaded /usr/lib/libmpi.so.40 library so=libmpi.so.40 need=libopen-pal.so.40 "     \
    "need=libmca.so.41 def=MPI_Init def=PMPI_Init def=MPI_Send def=ompi_mpi_init "     \
    "data=ompi_mpi_comm_world:512 def=ompi_file_read"
#define ABI_LIB                                                                        \
    "loaded /usr/lib/libmpi_abi.so.1 library so=libmpi_abi.so.1 def=MPI_Init "         \
    "def=PMPI_Init def=MPIR_Err_return_comm"
#define LIBC "loaded /lib/libc.so.6 library so=libc.so.6 vdef=GLIBC_2.36"

static const struct {
    const char *objects[8];
    const char *lines; /* family, parts and needs */
} cases[] = {
    {{"program /bin/a program need=libmpi.so.12 need=libc.so.6 und=MPI_Init "
      "und=MPI_Send und=main weak=MPI_T_init",
      MPICH_LIB, LIBC},
     "MPICH\nC\nMPI_Init\nMPI_Send\n"},
    /* By its marks, also if the library is missing, or has a name of MPICH. */
    {{"program /bin/a program need=libmpi.so.12 und=MPI_Init "
      "copy=ompi_mpi_comm_world:512"},
     "Open MPI\nC\nompi_mpi_comm_world 512\nMPI_Init\n"},
    {{"program /bin/a program need=libmpi.so.12 und=MPI_Init"}, "MPICH\nC\nMPI_Init\n"},
    {{"program /bin/a program need=libmpi.so.40 und=MPI_Init"},
     "Open MPI\nC\nMPI_Init\n"},
    {{"program /bin/a program need=libmpi.so.0 und=MPI_Init"},
     "an unknown MPI\nC\nMPI_Init\n"},
    /* The library that the loader finds counts more than its name. */
    {{"program /bin/a program need=libmpich.so.0 und=MPI_Init",
      "loaded /usr/lib/libmpich.so.0 library so=libmpich.so.0 def=MPI_Init "
      "def=PMPI_Init def=MPIR_Dup_fn"},
     "MPICH\nC\nMPI_Init\n"},
    {{"program /bin/a program need=libmpi.so.12 und=MPI_Init copy=ompi_mpi_int:352",
      MPICH_LIB},
     "an unknown MPI\nC\nompi_mpi_int 352\nMPI_Init\n"},
    /* Languages. */
    {{"program /bin/a program need=libmpifort.so.12 und=mpi_init_ data=mpipriv1_:40",
      "loaded /usr/lib/libmpifort.so.12 library so=libmpifort.so.12 need=libmpi.so.12 "
      "def=mpi_init_ def=pmpi_init_ und=MPI_Init data=mpipriv1_:40",
      MPICH_LIB},
     "MPICH\nFortran (mpif.h, use mpi)\nmpi_init_\n"},
    /* Without an underscore, as some compilers write it; and a name of the program. */
    {{"program /bin/a program need=libmpifort.so.12 und=mpi_init und=mpi_helper",
      "loaded /usr/lib/libhelper.so library so=libhelper.so def=mpi_helper",
      "loaded /usr/lib/libmpifort.so.12 library so=libmpifort.so.12 need=libmpi.so.12 "
      "def=mpi_init def=pmpi_init und=MPI_Init data=mpipriv1_:40",
      MPICH_LIB},
     "MPICH\nFortran (mpif.h, use mpi)\nmpi_init\n"},
    {{"program /bin/a program need=libmpi_usempif08.so.40 und=mpi_init_f08_ "
      "und=mpi_allreduce_f08_"},
     "Open MPI\nFortran 2008 (use mpi_f08)\nmpi_init_f08_\nmpi_allreduce_f08_\n"},
    {{"program /bin/a program need=libmpi.so.12 und=MPI_Status_f082c"},
     "MPICH\nC\nMPI_Status_f082c\n"},
    {{"program /bin/a program need=libmpi_mpifh.so.40 und=MPI_Send_f08"},
     "Open MPI\nFortran 2008 (use mpi_f08)\nMPI_Send_f08\n"},
    {{"program /bin/a program need=libmpi_cxx.so.40 und=_ZN3MPI4InitEv und=MPI_Init"},
     "Open MPI\nC\nC++\n_ZN3MPI4InitEv\nMPI_Init\n"},
    {{"program /bin/a program need=libmpi_usempi_ignore_tkr.so.40 need=libmpi.so.40",
      "loaded /usr/lib/libmpi_usempi_ignore_tkr.so.40 library "
      "so=libmpi_usempi_ignore_tkr.so.40 def=mpi_sizeof_i_ data=mpi_fortran_bottom_:4",
      OPENMPI_LIB},
     "Open MPI\nFortran (use mpi)\n"},
    {{"program /bin/a program need=libmpi_abi.so.1 und=MPI_Init", ABI_LIB},
     "the MPI standard ABI\nC\nMPI_Init\n"},
    {{"program /bin/a program need=libmpi_abi.so.12 und=MPI_Init"},
     "the MPI standard ABI\nC\nMPI_Init\n"},
    /* Libraries of the program count, but not symbols that they define for each other.
     */
    {{"program /bin/a program need=libhdf5.so.1 und=H5_init",
      "loaded /usr/lib/libhdf5.so.1 library so=libhdf5.so.1 need=libmpi.so.12 "
      "und=MPI_Init und=MPI_my_own",
      "loaded /usr/lib/libown.so library so=libown.so def=MPI_my_own", MPICH_LIB},
     "MPICH\nC\nMPI_Init\n"},
    /* A profiler that is preloaded. */
    {{"program /bin/a program need=libmpi.so.12 und=MPI_Init",
      "loaded /usr/lib/libdarshan.so library so=libdarshan.so def=MPI_Init "
      "und=MPI_Send "
      "und=PMPI_Init",
      MPICH_LIB},
     "MPICH\nC\nMPI_Send\nPMPI_Init\n"},
    /* The lower layers of MPI do not count. */
    {{"program /bin/a program need=libmpi.so.40 und=MPI_Init", OPENMPI_LIB,
      "loaded /usr/lib/libmca.so.41 library so=libmca.so.41 need=libmpi.so.40 "
      "und=ompi_file_read und=MPI_Send"},
     "Open MPI\nC\nMPI_Init\n"},
    /* A symbol that the image's MPI lacks, too, does not count. */
    {{"program /bin/a program need=libmpi.so.12 und=MPI_Init und=MPIX_Nobody",
      MPICH_LIB},
     "MPICH\nC\nMPI_Init\n"},
    /* A library that is only present does not count. */
    {{"program /usr/bin/python3 program need=libc.so.6", LIBC,
      "present /usr/lib/libmpi.so.12 library so=libmpi.so.12 def=PMPI_Init "
      "def=MPIR_Dup_fn"},
     "no MPI\n"},
    {{"program /bin/run.sh script"}, "no MPI\n"},
};

static char *tell(const struct berth_mpi_program *program)
{
    BERTH_STRVEC struct berth_strvec lines = {0};

    berth_strvec_push(&lines, berth_mpi_family_name(program->family));
    for (int i = 0; i < BERTH_PART_COUNT; i++)
        if (program->parts & 1U << i)
            berth_strvec_push(&lines, berth_mpi_part_name(1U << i));
    for (size_t i = 0; i < program->needs.count; i++) {
        const struct berth_elf_symbol *need = &program->needs.items[i];

        if (need->size)
            berth_strvec_pushf(&lines, "%s %d", need->name, (int)need->size);
        else
            berth_strvec_push(&lines, need->name);
    }
    return unit_lines(&lines);
}

TEST_ROWS(programs_say_what_they_want, cases)
{
    struct berth_mpi_objects objects = {0};
    struct berth_mpi_program program;
    BERTH_FREE char *lines = NULL;

    unit_objects(&objects, cases[_i].objects);
    ck_assert_int_eq(berth_mpi_program_read(&objects, &program, NULL), 0);
    lines = tell(&program);
    ck_assert_str_eq(lines, cases[_i].lines);
    berth_mpi_program_fini(&program);
    berth_mpi_objects_fini(&objects);
}

static const struct {
    const char *objects[4];
    bool musl;
} libcs[] = {
    {{"program /bin/a program", LIBC}, false},
    {{"program /bin/a program interp=/lib/ld-musl-x86_64.so.1"}, true},
    {{"program /bin/a.sh script",
      "present /lib/libc.musl-x86_64.so.1 library so=libc.musl-x86_64.so.1"},
     true},
};

TEST_ROWS(musl_is_seen, libcs)
{
    struct berth_mpi_objects objects = {0};
    struct berth_mpi_program program;

    unit_objects(&objects, libcs[_i].objects);
    ck_assert_int_eq(berth_mpi_program_read(&objects, &program, NULL), 0);
    ck_assert_int_eq(program.musl, libcs[_i].musl);
    ck_assert_ptr_eq(program.path, objects.items[0].path);
    berth_mpi_program_fini(&program);
    berth_mpi_objects_fini(&objects);
}

TEST(a_file_is_there_once)
{
    struct berth_mpi_objects objects = {0};

    unit_object(&objects, "present /l/libx.so.1 library so=libx.so.1 vdef=V_1");
    unit_object(&objects, "loaded /l/libx.so.1 library so=libx.so.1 vdef=V_1");
    unit_object(&objects, "present /l/liby.so library");
    unit_object(&objects, "present /other/libx.so.1 library so=libx.so.1");
    ck_assert_uint_eq(objects.count, 3);
    ck_assert_int_eq(objects.items[0].role, BERTH_ROLE_LOADED);
    ck_assert_str_eq(berth_mpi_objects_find(&objects, "libx.so.1")->path,
                     "/l/libx.so.1");
    ck_assert_str_eq(berth_mpi_objects_find(&objects, "liby.so")->path, "/l/liby.so");
    ck_assert_ptr_null(berth_mpi_objects_find(&objects, "libz.so"));
    berth_mpi_objects_fini(&objects);
}
