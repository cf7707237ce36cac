/* SPDX-License-Identifier: Apache-2.0 */
/* Which MPI a library is. The libraries are compiled here, with the names that real
 * ones define and want; what no C compiler makes is told as facts. */

#include "mpi/family.h"

#include <fcntl.h>

#include "base/cleanup.h"
#include "facts.h"
#include "mpi/filenames.h"
#include "mpi/names.h"
#include "mpi/profile.h"
#include "unit.h"

#define FUNCTION(name) "void " name "(void) { }\n"
#define C_LIBRARY      FUNCTION("MPI_Init") FUNCTION("PMPI_Init")
#define DUP_FN         FUNCTION("MPIR_Dup_fn")
#define MPICH          C_LIBRARY FUNCTION("MPIR_Err_return_comm") DUP_FN
#define WORLD          "long ompi_mpi_comm_world[64];\n"
#define OPENMPI        C_LIBRARY FUNCTION("ompi_mpi_init") WORLD
#define TEXTS(texts)   "const char *const texts[] = {" texts "};\n"

/* The source of a library SONAME, and the MPI that it must be classified as. */
static const struct {
    const char *soname;
    const char *source;
    struct berth_mpi_library is;
} compiled[] = {
    {"libmpi.so.12",
     MPICH TEXTS("\"MPICH Version:      %s\\n\", \"PMI_FD\", \"16:1:4\", \"4.2.3\""),
     {BERTH_FAMILY_MPICH, BERTH_PART_C, "MPICH", "4.2.3", 0, false}},
    {"libmpich.so.12",
     MPICH,
     {BERTH_FAMILY_MPICH, BERTH_PART_C, "MPICH", "", 0, false}},
    {"libmpich.so.0", MPICH, {BERTH_FAMILY_MPICH, BERTH_PART_C, "MPICH", "", 0, false}},
    {"libmpi.so.12",
     MPICH FUNCTION("I_MPI_Check_image_status")
         TEXTS("\"12:0:0\", \"0.16\", \"2021.19.0\""),
     {BERTH_FAMILY_MPICH, BERTH_PART_C, "Intel MPI", "2021.19.0", 0, false}},
    {"libmpi_gnu_123.so.12",
     MPICH TEXTS("\"CRAY MPICH version 8.1.29.12 (ANL base 3.4a2)\\n\""),
     {BERTH_FAMILY_MPICH, BERTH_PART_C, "Cray MPICH", "", 0, false}},
    {"libmpi.so.12",
     MPICH TEXTS("\"MVAPICH2 Version      :\\t%s\\n\""),
     {BERTH_FAMILY_MPICH, BERTH_PART_C, "MVAPICH", "", 0, false}},
    {"libmpi.so.12",
     MPICH TEXTS("\"ParaStation MPI Version:      %s\\n\""),
     {BERTH_FAMILY_MPICH, BERTH_PART_C, "ParaStation MPI", "", 0, false}},
    /* Open MPI 1.10 has the name of MPICH's. */
    {"libmpi.so.12",
     OPENMPI,
     {BERTH_FAMILY_OPENMPI, BERTH_PART_C, "Open MPI", "", 0, false}},
    {"libmpi.so.40",
     OPENMPI TEXTS("\"4.1\", \"4.1.4\""),
     {BERTH_FAMILY_OPENMPI, BERTH_PART_C, "Open MPI", "4.1.4", 0, false}},
    /* The standard's library has private names of its maker. */
    {"libmpi_abi.so.1", MPICH, {BERTH_FAMILY_ABI, BERTH_PART_C, "MPICH", "", 1, false}},
    {"libmpi_abi.so.1",
     OPENMPI,
     {BERTH_FAMILY_ABI, BERTH_PART_C, "Open MPI", "", 1, false}},
    {"libmpi_abi.so.0", MPICH, {BERTH_FAMILY_ABI, BERTH_PART_C, "MPICH", "", 0, false}},
    {"libmpi_abi.so.12",
     MPICH,
     {BERTH_FAMILY_ABI, BERTH_PART_C, "MPICH", "", 12, false}},
    {"libmpi.so.12",
     C_LIBRARY,
     {BERTH_FAMILY_UNKNOWN, BERTH_PART_C, NULL, "", 0, false}},
    {"libmpifort.so.12",
     FUNCTION("mpi_init_") FUNCTION("pmpi_init_")
         FUNCTION("mpi_init_f08_") "int mpipriv1_[10];\n",
     {BERTH_FAMILY_MPICH, BERTH_PART_FORTRAN | BERTH_PART_F08, NULL, "", 0, false}},
    {"libmpifort_abi.so.1",
     FUNCTION("mpi_init_") FUNCTION("pmpi_init_") "int mpipriv1_[10];\n",
     {BERTH_FAMILY_ABI, BERTH_PART_FORTRAN, NULL, "", 1, false}},
    {"libmpi_mpifh.so.40",
     FUNCTION("mpi_init_") FUNCTION("pmpi_init_") "int mpi_fortran_bottom_;\n",
     {BERTH_FAMILY_OPENMPI, BERTH_PART_FORTRAN, NULL, "", 0, false}},
    {"libmpi_usempif08.so.40",
     FUNCTION("mpi_init_f08_") FUNCTION("pmpi_init_f08_") "int mpi_fortran_bottom_;\n",
     {BERTH_FAMILY_OPENMPI, BERTH_PART_F08, NULL, "", 0, false}},
    {"libmpi_usempi_ignore_tkr.so.40",
     FUNCTION("mpi_sizeof_integer_") "int mpi_fortran_bottom_;\n",
     {BERTH_FAMILY_OPENMPI, BERTH_PART_USEMPI, NULL, "", 0, false}},
    {"libmpi_usempif08-gfortran.so.40",
     "int nothing;\n",
     {.family = BERTH_FAMILY_NONE}},
    {"libdarshan.so",
     FUNCTION("MPI_Init") "void PMPI_Init(void);\nvoid f(void) { PMPI_Init(); }\n",
     {.family = BERTH_FAMILY_NONE}},
    {"libopen-pal.so.80", FUNCTION("opal_init"), {.family = BERTH_FAMILY_NONE}},
};

static void assert_is(const struct berth_elf *elf, const char *file,
                      const struct berth_mpi_library *expected)
{
    struct berth_mpi_library library;

    berth_mpi_classify(elf, file, &library);
    ck_assert_str_eq(berth_mpi_family_name(library.family),
                     berth_mpi_family_name(expected->family));
    ck_assert_uint_eq(library.parts, expected->parts);
    ck_assert_str_eq(library.vendor ? library.vendor : "not told",
                     expected->vendor ? expected->vendor : "not told");
    ck_assert_str_eq(library.version, expected->version);
    ck_assert_uint_eq(library.abi_number, expected->abi_number);
    ck_assert_int_eq(library.is_inside, expected->is_inside);
}

TEST_ROWS(compiled_libraries_are_known, compiled)
{
    BERTH_FREE char *path = NULL;
    BERTH_CLOSE int fd = -1;
    struct berth_err err = {0};
    struct berth_elf elf;

    unit_compile(unit_dir, compiled[_i].source, "-shared -fPIC -Wl,-soname,%s -o lib",
                 compiled[_i].soname);
    path = unit_path(unit_dir, "lib");
    fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_msg(berth_elf_read(fd, &berth_mpi_question, &elf, &err) == 0, "%s",
                  err.text);
    assert_is(&elf, NULL, &compiled[_i].is);
    berth_elf_fini(&elf);
}

#define VERSION_OF_MPICH "\"MPICH Version:      %s\\nMPICH ABI: %s\\n\""
#define OF_OPENMPI                                                                     \
    "\"Open MPI v%d.%d.%d\", "                                                         \
    "\"ompi_mpi_init: ompi_register_mca_variables failed\", "

/* Programs that have an MPI linked into them. */
static const struct {
    const char *source;
    const char *options; /* of the compiler */
    struct berth_mpi_library is;
} inside[] = {
    /* libmpich.a in a program whose C library is shared, by its constants. */
    {TEXTS(VERSION_OF_MPICH ", \"**mpi_init\", \"14:2:2\", \"4.0.2\", \"1.2.3\""),
     "-s",
     {BERTH_FAMILY_MPICH, BERTH_PART_C, "MPICH", "4.0.2", 0, true}},
    {TEXTS("\"MPIR_CVAR_ERROR_CHECKING\", \"**mpi_init\", \"CRAY MPICH version 8.1\""),
     "-s",
     {BERTH_FAMILY_MPICH, BERTH_PART_C, "Cray MPICH", "", 0, true}},
    {TEXTS("\"Intel(R) MPI Library, Version %s  Build %s\", \"**mpi_init\", "
           "\"2021.19.0\", \"1.2.3\""),
     "-static -s",
     {BERTH_FAMILY_MPICH, BERTH_PART_C, "Intel MPI", "2021.19.0", 0, true}},
    {TEXTS(OF_OPENMPI "\"4.1.8\""),
     "-s",
     {BERTH_FAMILY_OPENMPI, BERTH_PART_C, "Open MPI", "4.1.8", 0, true}},
    /* The program has a version, too, and nothing shows which one is the MPI's. */
    {TEXTS(OF_OPENMPI "\"4.1.8\", \"1.2.3\""),
     "-s",
     {BERTH_FAMILY_OPENMPI, BERTH_PART_C, "Open MPI", "", 0, true}},
    /* By its symbols, if they were not stripped. */
    {MPICH, "", {BERTH_FAMILY_MPICH, BERTH_PART_C, "MPICH", "", 0, true}},
    {OPENMPI, "", {BERTH_FAMILY_OPENMPI, BERTH_PART_C, "Open MPI", "", 0, true}},
    {C_LIBRARY, "", {BERTH_FAMILY_UNKNOWN, BERTH_PART_C, NULL, "", 0, true}},
    {MPICH, "-s", {.family = BERTH_FAMILY_NONE}},
    {MPICH, "-s -rdynamic", {BERTH_FAMILY_MPICH, BERTH_PART_C, "MPICH", "", 0, true}},
    /* Tools that name an MPI: mpichversion, Hydra, a profiler, berth. */
    {TEXTS(VERSION_OF_MPICH), "-s", {.family = BERTH_FAMILY_NONE}},
    {TEXTS("\"PMI_FD\", \"fullinit\", \"cmd=fullinit-response\""),
     "-s",
     {.family = BERTH_FAMILY_NONE}},
    {TEXTS("\"MPICH Version:\", \"MPI_Init\", \"MPI_Get_library_version\", "
           "\"Open MPI\""),
     "-s",
     {.family = BERTH_FAMILY_NONE}},
    {TEXTS("\"Open MPI v4.1.4\", \"MPI_Get_library_version\""),
     "-s",
     {.family = BERTH_FAMILY_NONE}},
};

TEST_ROWS(what_is_linked_into_a_file_is_seen, inside)
{
    BERTH_FREE char *path = NULL;
    BERTH_FREE char *source = NULL;
    BERTH_CLOSE int fd = -1;
    struct berth_err err = {0};
    struct berth_elf elf;

    source = unit_format("%s void _start(void) { }\n", inside[_i].source);
    unit_compile(unit_dir, source, "%s -o part", inside[_i].options);
    path = unit_path(unit_dir, "part");
    fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_msg(berth_elf_read(fd, &berth_mpi_question, &elf, &err) == 0, "%s",
                  err.text);
    assert_is(&elf, NULL, &inside[_i].is);
    berth_elf_fini(&elf);
}

static const struct {
    const char *facts;
    const char *file;
    struct berth_mpi_library is;
} told[] = {
    /* Open MPI 6: the world's communicator is in libopen_mpi. */
    {"library so=libmpi.so.40 need=libopen_mpi.so.40 def=MPI_Init def=PMPI_Init "
     "def=ompi_mpi_f_init und=ompi_mpi_comm_world und=ompi_mpi_init text=6.0.0rc2",
     "libmpi.so.40.50.0",
     {BERTH_FAMILY_OPENMPI, BERTH_PART_C, "Open MPI", "6.0.0rc2", 0, false}},
    {"library so=libmpi.so.40 def=PMPI_Init def=ompi_mpi_init",
     "libmpi.so.40.30.4",
     {BERTH_FAMILY_OPENMPI, BERTH_PART_C, "Open MPI", "4.1", 0, false}},
    {"library so=libmpi.so.12 def=PMPI_Init def=ompi_mpi_init",
     "libmpi.so.12.0.2",
     {BERTH_FAMILY_OPENMPI, BERTH_PART_C, "Open MPI", "1.10", 0, false}},
    {"library so=libmpich.so.12 def=PMPI_Init def=MPIR_Dup_fn",
     "libmpich.so.12.2.2",
     {BERTH_FAMILY_MPICH, BERTH_PART_C, "MPICH", "4.0", 0, false}},
    {"library so=libmpich.so.12 def=PMPI_Init def=MPIR_Dup_fn",
     "libmpich.so.12",
     {BERTH_FAMILY_MPICH, BERTH_PART_C, "MPICH", "", 0, false}},
    /* C++: by the libraries that it needs. */
    {"library so=libmpicxx.so.12 need=libmpi.so.12 def=_ZN3MPI4InitEv und=MPI_Init",
     "libmpicxx.so.12",
     {BERTH_FAMILY_MPICH, BERTH_PART_CXX, NULL, "", 0, false}},
    {"library so=libmpi_cxx.so.1 need=libmpi.so.12 need=libopen-pal.so.13 "
     "def=_ZN3MPI4InitEv",
     NULL,
     {BERTH_FAMILY_OPENMPI, BERTH_PART_CXX, NULL, "", 0, false}},
    {"library so=libfoo.so.1 need=libc.so.6 def=_ZN3MPI4InitEv",
     NULL,
     {BERTH_FAMILY_UNKNOWN, BERTH_PART_CXX, NULL, "", 0, false}},
    {"library need=libmpi.so.12 need=libmpifort.so.12 def=mpi_init_ data=mpipriv1_:40 "
     "und=pmpi_init_",
     "libmpi_ilp64.so.4.1",
     {BERTH_FAMILY_MPICH, BERTH_PART_ILP64, NULL, "", 0, false}},
    {"library so=libopen_mpi.so.40 data=ompi_mpi_comm_world:8 def=MPIR_debug_gate",
     "libopen_mpi.so.40.50.0",
     {BERTH_FAMILY_OPENMPI, BERTH_PART_CORE, NULL, "", 0, false}},
    {"program def=MPI_Init def=PMPI_Init",
     NULL,
     {BERTH_FAMILY_UNKNOWN, BERTH_PART_C, NULL, "", 0, true}},
    {"program def=MPI_Init und=PMPI_Init", NULL, {.family = BERTH_FAMILY_NONE}},
    {"none", NULL, {.family = BERTH_FAMILY_NONE}},
};

TEST_ROWS(facts_are_enough, told)
{
    struct berth_elf elf = unit_facts(told[_i].facts);

    assert_is(&elf, told[_i].file, &told[_i].is);
    berth_elf_fini(&elf);
}

static const struct {
    const char *soname;
    enum berth_mpi_family family;
} sonames[] = {
    {"libmpi.so.12", BERTH_FAMILY_MPICH},
    {"libmpi_cray.so.12", BERTH_FAMILY_MPICH},
    {"libmpi_gnu_123.so.12", BERTH_FAMILY_MPICH},
    {"libmpich.so.12", BERTH_FAMILY_MPICH},
    {"libmpich.so.0", BERTH_FAMILY_MPICH},
    {"libmpichfort.so.12", BERTH_FAMILY_MPICH},
    {"libmpifort.so.12", BERTH_FAMILY_MPICH},
    {"libmpi.so.40", BERTH_FAMILY_OPENMPI},
    {"libmpi.so.20", BERTH_FAMILY_OPENMPI},
    {"libmpi_mpifh.so.12", BERTH_FAMILY_OPENMPI},
    {"libmpi_usempif08.so.11", BERTH_FAMILY_OPENMPI},
    {"libmpi_cxx.so.1", BERTH_FAMILY_OPENMPI},
    {"libmpi_abi.so.1", BERTH_FAMILY_ABI},
    {"libmpi_abi.so.0", BERTH_FAMILY_ABI},
    {"libmpifort_abi.so.1", BERTH_FAMILY_ABI},
    {"libmpi.so.0", BERTH_FAMILY_UNKNOWN},
    {"libmpi.so", BERTH_FAMILY_NONE},
    {"libc.so.6", BERTH_FAMILY_NONE},
    {"libmpc.so.3", BERTH_FAMILY_NONE},
};

TEST_ROWS(a_name_says_a_family, sonames)
{
    ck_assert_str_eq(
        berth_mpi_family_name(berth_mpi_family_of_soname(sonames[_i].soname)),
        berth_mpi_family_name(sonames[_i].family));
}

static const struct {
    const char *name;
    bool is;
} symbols[] = {
    {"MPI_Init", true},
    {"PMPI_Init", true},
    {"MPIX_Query_cuda_support", true},
    {"PMPIX_Grequest_start", true},
    {"mpi_init_", true},
    {"pmpi_init__", true},
    {"mpi_allreduce_f08ts_", true},
    {"MPIR_F08_MPI_STATUS_IGNORE_OBJ", true},
    {"MPII_Version_string", true},
    {"ompi_mpi_comm_world", true},
    {"OMPI_C_MPI_NULL_COPY_FN", true},
    {"mpi_fortran_bottom_", true},
    {"mpipriv1_", true},
    {"mpifcmb5_", true},
    {"_ZN3MPI4InitEv", true},
    {"_ZTVN3MPI4CommE", true},
    {"__mpi_f08_types_MOD_ompi_comm_op_eq", true},
    {"mpi_init", true},
    {"MPIR_proctable_size", false},
    {"mpicc_version", false},
    {"main", false},
    {"PMI_Init", false},
    {"I_MPI_Check_image_status", false},
    {"simple_mpi_", false},
};

TEST_ROWS(symbols_of_mpi_are_known, symbols)
{
    ck_assert_int_eq(berth_mpi_is_symbol(symbols[_i].name), symbols[_i].is);
}

/* Each family that a host can replace, but the ABI of the standard. */
TEST_TIMES(every_family_has_a_row, BERTH_MPI_IMPLEMENTATIONS)
{
    enum berth_mpi_family family = (enum berth_mpi_family)(BERTH_FAMILY_MPICH + _i);
    int rows = 0;

    for (int i = 0; i < BERTH_MPI_IMPLEMENTATIONS; i++) {
        ck_assert_ptr_nonnull(berth_mpi_implementations[i].name);
        rows += berth_mpi_implementations[i].family == family;
    }
    ck_assert_int_eq(rows, 1);
}

/* Has a host's loader a name to look for that is one of FAMILY, and the name of a file
 * by which an image is searched? */
static bool has_soname(enum berth_mpi_family family)
{
    for (const char *const *it = berth_mpi_loader_sonames; *it; it++)
        if (berth_mpi_family_of_soname(*it) == family && berth_mpi_is_file_name(*it) &&
            berth_mpi_is_c_file_name(*it))
            return true;
    return false;
}

static bool has_profile(enum berth_mpi_family family)
{
    for (const struct berth_profile *it = berth_profiles; it->name; it++)
        if (it->family == family)
            return true;
    return false;
}

/* What src/mpi has of a family in other files than names.c; without it, an MPI of that
 * family is not found, and nothing else says so. */
TEST_TIMES(every_family_is_found, BERTH_MPI_IMPLEMENTATIONS)
{
    enum berth_mpi_family family = (enum berth_mpi_family)(BERTH_FAMILY_MPICH + _i);
    const char *name = berth_mpi_family_name(family);

    ck_assert_msg(has_soname(family), "%s: src/mpi/filenames.c has no name of it",
                  name);
    ck_assert_msg(has_profile(family), "%s: src/mpi/profile.c has no row for it", name);
}

TEST(every_family_has_a_key)
{
    int keys = 0;

    for (const char *c = BERTH_FAMILY_WORDS; *c; c++)
        keys += *c == '|';
    ck_assert_int_eq(keys, BERTH_MPI_IMPLEMENTATIONS);
}

TEST(parts_have_names)
{
    static const char *const names[BERTH_PART_COUNT] = {
        "C",
        "Fortran (mpif.h, use mpi)",
        "Fortran (use mpi)",
        "Fortran 2008 (use mpi_f08)",
        "C++",
        "Fortran with 8-byte INTEGER (ILP64)",
        "the core library of Open MPI 6 (libopen_mpi)",
    };

    for (int i = 0; i < BERTH_PART_COUNT; i++)
        ck_assert_str_eq(berth_mpi_part_name(1U << i), names[i]);
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
}
