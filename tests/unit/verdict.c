/* SPDX-License-Identifier: Apache-2.0 */
/* Whether programs of images can run on a host's MPI: every rule, with the pairs that
 * were tried with real libraries. */

#include "mpi/verdict.h"

#include <stdio.h>

#include "objects.h"
#include "unit.h"

/* Hosts. */
#define GLIBC_36                                                                       \
    "loaded /lib/libc.so.6 library so=libc.so.6 vdef=GLIBC_2.2.5 vdef=GLIBC_2.17 "     \
    "vdef=GLIBC_2.34 vdef=GLIBC_2.36"
#define GLIBC_41 GLIBC_36 " vdef=GLIBC_2.38 vdef=GLIBC_2.41 vdef=GLIBC_ABI_DT_RELR"
#define CALLS    "def=MPI_Init def=PMPI_Init def=MPI_Send "
#define MPICH(version)                                                                 \
    "loaded /h/libmpi.so.12 library so=libmpi.so.12 " CALLS                            \
    "def=MPIR_Err_return_comm text=16:1:4 text=" version " ver=libc.so.6:GLIBC_2.17"
#define MPICH_ABI                                                                      \
    "loaded /h/libmpi_abi.so.1 library so=libmpi_abi.so.1 " CALLS                      \
    "def=MPIR_Err_return_comm"
#define MPICH_FORT                                                                     \
    "loaded /h/libmpifort.so.12 library so=libmpifort.so.12 need=libmpi.so.12 "        \
    "und=MPI_Init und=MPIR_Err_return_comm def=mpi_init_ def=pmpi_init_ "              \
    "def=mpi_init_f08_ def=mpi_send_f08ts_ data=mpipriv1_:40"
#define INTEL                                                                          \
    "loaded /h/libmpi.so.12 library so=libmpi.so.12 " CALLS "def=MPIR_Dup_fn "         \
    "def=I_MPI_Check_image_status text=2021.19.0"
#define OMPI5                                                                          \
    "loaded /h/libmpi.so.40 library so=libmpi.so.40 " CALLS "def=ompi_mpi_init "       \
    "data=ompi_mpi_comm_world:512 text=5.0.7"
#define OMPI6                                                                          \
    "loaded /h/libmpi.so.40 library so=libmpi.so.40 need=libopen_mpi.so.40 " CALLS     \
    "def=ompi_mpi_f_init und=ompi_mpi_comm_world text=6.0.0rc2"
#define OMPI6_CORE                                                                     \
    "loaded /h/libopen_mpi.so.40 library so=libopen_mpi.so.40 def=ompi_mpi_init "      \
    "data=ompi_mpi_comm_world:512"
#define OMPI6_ABI                                                                      \
    "loaded /h/libmpi_abi.so.1 library so=libmpi_abi.so.1 " CALLS "def=ompi_mpi_init"
#define OMPI6_F08                                                                      \
    "loaded /h/libmpi_usempif08.so.40 library so=libmpi_usempif08.so.40 "              \
    "def=mpi_init_f08_ def=mpi_allreduce_f08ts_ data=mpi_fortran_bottom_:4"
#define OMPI110                                                                        \
    "loaded /h/libmpi.so.12 library so=libmpi.so.12 " CALLS "def=ompi_mpi_init "       \
    "data=ompi_mpi_comm_world:456"

/* Programs, and what their images have. */
#define C_MPICH "program /bin/a program need=libmpich.so.12 und=MPI_Init und=MPI_Send"
#define IN_MPICH                                                                       \
    "loaded /usr/lib/libmpich.so.12.2.2 library so=libmpich.so.12 " CALLS              \
    "def=MPIR_Dup_fn def=MPIX_Old"
#define F_MPICH                                                                        \
    "program /bin/a program need=libmpichfort.so.12 und=mpi_init_ data=mpipriv1_:40"
#define IN_MPICHFORT                                                                   \
    "loaded /usr/lib/libmpichfort.so.12 library so=libmpichfort.so.12 "                \
    "need=libmpich.so.12 def=mpi_init_ def=pmpi_init_ data=mpipriv1_:40"
#define C_OMPI                                                                         \
    "program /bin/a program need=libmpi.so.40 und=MPI_Init "                           \
    "copy=ompi_mpi_comm_world:512"
#define IN_OMPI                                                                        \
    "loaded /usr/lib/libmpi.so.40.30.4 library so=libmpi.so.40 " CALLS                 \
    "def=ompi_mpi_init data=ompi_mpi_comm_world:512"
#define C_OMPI110                                                                      \
    "program /bin/a program need=libmpi.so.12 und=MPI_Init "                           \
    "copy=ompi_mpi_comm_world:456"
#define IN_OMPI110                                                                     \
    "loaded /usr/lib/libmpi.so.12.0.2 library so=libmpi.so.12 " CALLS                  \
    "def=ompi_mpi_init data=ompi_mpi_comm_world:456"
#define C_ABI    "program /bin/a program need=libmpi_abi.so.1 und=MPI_Init"
#define PYTHON   "program /usr/bin/python3 program need=libc.so.6"
#define SCRIPT   "program /run.sh script"
#define GFORTRAN "loaded /h/libgfortran.so.5 library ver=libc.so.6:GLIBC_2.38"
#define HYBRID   "choose --mpi-bind=hybrid"

/* Verdicts, with their sentences. */
#define NO(because)          BERTH_VERDICT_NO, because
#define CANNOT_TELL(because) BERTH_VERDICT_CANNOT_TELL, because
#define FITS(wants, has, symbols)                                                      \
    BERTH_VERDICT_YES, "the program wants " wants ", and the host's " has              \
                       " has all MPI symbols that it needs (" symbols ")"
#define CHILDREN(script, has, had)                                                     \
    BERTH_VERDICT_YES, "programs that '" script "' starts get the host's " has         \
                       " instead of the image's " had
#define OLDER(has, needs)                                                              \
    BERTH_VERDICT_YES_WITH_HOST_GLIBC,                                                 \
        "the host's MPICH 5.0.2 brings the host's C library with it, because the "     \
        "image's (" has ") is older than MPICH 5.0.2 needs (" needs ")"
#define OTHER_FAMILY(wants, has, family)                                               \
    NO("the program wants " wants ", and the host's MPI is " has "; " HYBRID           \
       ", or a profile with " family " (--mpi-bind=NAME)")
#define STARTER(path)                                                                  \
    NO("'" path                                                                        \
       "' starts ranks itself, which cannot be done in every task of a step; choose "  \
       "--mpi-bind=local for an mpirun on one node, or let srun start the program")

static const struct {
    const char *image[8];
    const char *host[8];
    enum berth_mpi_answer answer;
    const char *because;
} cases[] = {
    /* One family, several makers and releases. */
    {{C_MPICH, IN_MPICH, GLIBC_36},
     {MPICH("5.0.2"), GLIBC_36},
     FITS("MPICH", "MPICH 5.0.2", "2")},
    {{C_MPICH, IN_MPICH, GLIBC_36},
     {INTEL, GLIBC_36},
     FITS("MPICH", "Intel MPI 2021.19.0", "2")},
    {{C_OMPI, IN_OMPI}, {OMPI5}, FITS("Open MPI", "Open MPI 5.0.7", "2")},
    {{C_OMPI, IN_OMPI},
     {OMPI6, OMPI6_CORE},
     FITS("Open MPI", "Open MPI 6.0.0rc2", "2")},
    {{F_MPICH, IN_MPICHFORT, IN_MPICH, GLIBC_36},
     {MPICH("4.2.3"), MPICH_FORT, GLIBC_36},
     FITS("MPICH", "MPICH 4.2.3", "1")},
    /* Ubuntu 18.04: a name of no family. */
    {{"program /bin/a program need=libmpich.so.0 und=MPI_Init",
      "loaded /l/libmpich.so.0 library so=libmpich.so.0 " CALLS "def=MPIR_Dup_fn",
      GLIBC_36},
     {MPICH("4.2.3"), GLIBC_36},
     FITS("MPICH", "MPICH 4.2.3", "1")},
    /* A program with the standard's ABI runs on each MPI that has it. */
    {{C_ABI, GLIBC_36},
     {MPICH("5.0.2"), MPICH_ABI, GLIBC_36},
     FITS("the MPI standard ABI", "MPICH", "1")},
    {{C_ABI, GLIBC_36},
     {OMPI6, OMPI6_CORE, OMPI6_ABI},
     FITS("the MPI standard ABI", "Open MPI", "1")},
    {{"program /bin/a program need=libmpi_abi.so.0 und=MPI_Init"},
     {MPICH_ABI},
     FITS("the MPI standard ABI", "MPICH", "1")},
    {{"program /bin/a program need=libmpi_abi.so.12 und=MPI_Init"},
     {MPICH_ABI},
     NO("the program wants libmpi_abi.so.12 and the host's MPICH has libmpi_abi.so.1, "
        "which is another ABI; build it again, or " HYBRID)},
    {{C_ABI, GLIBC_36},
     {MPICH("4.2.3")},
     OTHER_FAMILY("the MPI standard ABI", "MPICH 4.2.3", "the MPI standard ABI")},
    /* Program and host are of two families. */
    {{C_OMPI, IN_OMPI},
     {MPICH("4.2.3")},
     OTHER_FAMILY("Open MPI", "MPICH 4.2.3", "Open MPI")},
    {{C_MPICH, IN_MPICH}, {OMPI5}, OTHER_FAMILY("MPICH", "Open MPI 5.0.7", "MPICH")},
    {{C_OMPI110, IN_OMPI110},
     {MPICH("4.2.3")},
     OTHER_FAMILY("Open MPI", "MPICH 4.2.3", "Open MPI")},
    {{"program /bin/a program need=libmpi.so.12 und=MPI_Init"},
     {OMPI110},
     OTHER_FAMILY("MPICH", "Open MPI", "MPICH")},
    {{C_OMPI110,
      "loaded /usr/lib/libmpi.so.12 library so=libmpi.so.12 " CALLS "def=MPIR_Dup_fn"},
     {MPICH("4.2.3")},
     CANNOT_TELL("berth cannot tell which MPI the program wants (marks of: MPICH and "
                 "Open MPI); build it with one MPI, or " HYBRID)},
    {{"program /bin/a program need=libmpi.so.0 und=MPI_Init"},
     {MPICH("4.2.3")},
     CANNOT_TELL("berth cannot tell which MPI the program wants (marks of: an unknown "
                 "MPI); build it with one MPI, or " HYBRID)},
    /* The host lacks symbols or parts. */
    {{C_MPICH, IN_MPICH},
     {GLIBC_36},
     NO("no MPI library was found on the host; load its module before srun, name a "
        "profile (--mpi-bind=NAME), or " HYBRID)},
    {{C_MPICH, IN_MPICH},
     {"loaded /h/libmpi.so.7 library so=libmpi.so.7 def=PMPI_Init"},
     CANNOT_TELL("'/h/libmpi.so.7' of the host is neither MPICH nor Open MPI; name a "
                 "profile (--mpi-bind=NAME), or " HYBRID)},
    {{F_MPICH, IN_MPICHFORT, IN_MPICH},
     {MPICH("5.0.2")},
     NO("the program uses MPI from Fortran (mpif.h, use mpi), and the host's MPICH "
        "5.0.2 has no library for that; " HYBRID
        ", or a profile whose MPI has it (--mpi-bind=NAME)")},
    {{"program /bin/a program need=libmpi_cxx.so.40 und=_ZN3MPI4InitEv"},
     {OMPI5},
     NO("the program uses MPI from C++, and the host's Open MPI 5.0.7 has no library "
        "for that; " HYBRID ", or a profile whose MPI has it (--mpi-bind=NAME)")},
    {{"program /bin/a program need=libmpi_usempif08.so.40 und=mpi_init_f08_ "
      "und=mpi_allreduce_f08_"},
     {OMPI6, OMPI6_CORE, OMPI6_F08},
     NO("the host's Open MPI 6.0.0rc2 lacks 1 of the 2 MPI symbols that the program "
        "needs (mpi_allreduce_f08_); " HYBRID
        ", or a profile with another release (--mpi-bind=NAME)")},
    {{"program /bin/a program need=libmpi.so.12 und=MPI_Init und=MPI_A und=MPI_B "
      "und=MPI_C und=MPI_D"},
     {MPICH("4.2.3")},
     NO("the host's MPICH 4.2.3 lacks 4 of the 5 MPI symbols that the program needs "
        "(MPI_A, MPI_B, MPI_C, ...); " HYBRID
        ", or a profile with another release (--mpi-bind=NAME)")},
    /* A function in a library that libmpi brings, or that the program needs, too. */
    {{C_MPICH " und=MPI_Comm_f2c", IN_MPICH " def=MPI_Comm_f2c", GLIBC_36},
     {MPICH("6.0.0") " need=libmpifort.so.12", MPICH_FORT " def=MPI_Comm_f2c"},
     FITS("MPICH", "MPICH 6.0.0", "3")},
    {{C_MPICH " und=MPI_Comm_f2c", IN_MPICH, IN_MPICHFORT " def=MPI_Comm_f2c",
      GLIBC_36},
     {MPICH("6.0.0"), MPICH_FORT " def=MPI_Comm_f2c"},
     FITS("MPICH", "MPICH 6.0.0", "3")},
    {{C_OMPI110, IN_OMPI110},
     {OMPI5},
     NO("the program and the host's Open MPI 5.0.7 do not fit (ompi_mpi_comm_world has "
        "456 bytes in the one, and 512 in the other); build it with that release, "
        "or " HYBRID)},
    {{F_MPICH, IN_MPICHFORT, IN_MPICH},
     {MPICH("5.0.2"), MPICH_FORT " und=MPIR_Gone"},
     NO("'/h/libmpifort.so.12' of the host needs MPIR_Gone, which the host's MPICH "
        "5.0.2 lacks, so they are of two installations; name a profile of one "
        "(--mpi-bind=NAME), or " HYBRID)},
    {{C_MPICH, IN_MPICH, GLIBC_36},
     {MPICH("5.0.2"), MPICH_FORT " und=MPIR_Gone", GLIBC_36},
     FITS("MPICH", "MPICH 5.0.2", "2")},
    /* Programs whose MPI cannot be replaced. */
    {{"program /bin/a static"},
     {MPICH("5.0.2")},
     NO("'/bin/a' is linked statically, so no library of the host reaches it; link it "
        "with shared libraries, name the program that it starts, or " HYBRID)},
    {{"program /bin/a program need=libc.so.6 text=**mpi_init "
      "text=MPIR_CVAR_ERROR_CHECKING text=14:2:2 text=4.0.2",
      IN_MPICH, GLIBC_36},
     {MPICH("5.0.2")},
     NO("'/bin/a' is linked statically with MPICH 4.0.2, so no library of the host "
        "reaches it; link it with shared libraries, name the program that it starts, "
        "or " HYBRID)},
    {{"program /bin/a program need=libown.so",
      "loaded /lib/libown.so library so=libown.so text=**mpi_init "
      "text=MPIR_CVAR_ERROR_CHECKING",
      IN_MPICH, GLIBC_36},
     {MPICH("5.0.2")},
     NO("'/lib/libown.so' is linked statically with MPICH, so no library of the host "
        "reaches it; link it with shared libraries, name the program that it starts, "
        "or " HYBRID)},
    {{"program /usr/bin/mpiexec.hydra program need=libc.so.6", IN_MPICH, GLIBC_36},
     {MPICH("5.0.2")},
     STARTER("/usr/bin/mpiexec.hydra")},
    {{"program /usr/bin/mpiexec_mpt program need=libc.so.6", IN_MPICH, GLIBC_36},
     {MPICH("5.0.2")},
     STARTER("/usr/bin/mpiexec_mpt")},
    {{"program /usr/bin/mpirun_ssh program need=libc.so.6", IN_MPICH, GLIBC_36},
     {MPICH("5.0.2")},
     STARTER("/usr/bin/mpirun_ssh")},
    {{"program /bin/a none"},
     {MPICH("5.0.2")},
     CANNOT_TELL("'/bin/a' is neither a program nor a script; name one, or " HYBRID)},
    {{"program /bin/a program interp=/lib/ld-musl-x86_64.so.1 need=libmpi.so.12 "
      "und=MPI_Init"},
     {MPICH("5.0.2")},
     NO("the image has musl as its C library, and the host's MPICH 5.0.2 needs glibc; "
        "build the image on a distribution with glibc, or " HYBRID)},
    {{"program /bin/a program machine=aarch64 need=libmpi.so.12 und=MPI_Init"},
     {MPICH("5.0.2")},
     NO("'/bin/a' is for aarch64 (64 bits) and the host's MPICH 5.0.2 for x86_64 (64 "
        "bits); use an image for the host's machine")},
    {{"program /bin/a program bits=32 need=libmpi.so.12 und=MPI_Init"},
     {MPICH("5.0.2")},
     NO("'/bin/a' is for x86_64 (32 bits) and the host's MPICH 5.0.2 for x86_64 (64 "
        "bits); use an image for the host's machine")},
    /* glibc. */
    {{C_MPICH, IN_MPICH, GLIBC_36},
     {MPICH("5.0.2") " ver=libc.so.6:GLIBC_2.38", GLIBC_41},
     OLDER("GLIBC_2.36", "GLIBC_2.38")},
    {{C_MPICH, IN_MPICH, GLIBC_36},
     {MPICH("5.0.2") " ver=libc.so.6:GLIBC_ABI_DT_RELR", GLIBC_41},
     OLDER("GLIBC_2.36", "GLIBC_ABI_DT_RELR")},
    /* For a file of glibc that is not known, libc.so.6 counts. */
    {{C_MPICH, IN_MPICH, GLIBC_36},
     {MPICH("5.0.2") " ver=libpthread.so.0:GLIBC_2.12 ver=libm.so.6:GLIBC_2.29",
      GLIBC_41},
     FITS("MPICH", "MPICH 5.0.2", "2")},
    {{C_MPICH, IN_MPICH, GLIBC_36},
     {MPICH("5.0.2") " ver=libm.so.6:GLIBC_2.38 ver=libm.so.6:GLIBC_2.4", GLIBC_41},
     OLDER("GLIBC_2.36", "GLIBC_2.38")},
    {{C_MPICH, IN_MPICH, GLIBC_36,
      "loaded /lib/libm.so.6 library so=libm.so.6 vdef=GLIBC_2.2.5"},
     {MPICH("5.0.2") " ver=libm.so.6:GLIBC_2.29", GLIBC_41},
     OLDER("GLIBC_2.36", "GLIBC_2.29")},
    /* Two digits are more than one, and a library that MPI loads later counts. */
    {{C_MPICH, IN_MPICH,
      "loaded /lib/libc.so.6 library so=libc.so.6 vdef=GLIBC_2.4 vdef=GLIBC_2.17"},
     {MPICH("5.0.2"), "present /h/libfabric.so.1 library ver=libc.so.6:GLIBC_2.27",
      GLIBC_41 " vdef=GLIBC_2.27 vdef=GLIBC_2.4"},
     OLDER("GLIBC_2.17", "GLIBC_2.27")},
    {{C_MPICH " ver=libc.so.6:GLIBC_2.40", IN_MPICH,
      GLIBC_36 " vdef=GLIBC_2.39 vdef=GLIBC_2.40",
      "loaded /lib/libm.so.6 library so=libm.so.6 vdef=GLIBC_2.2.5"},
     {MPICH("5.0.2") " ver=libm.so.6:GLIBC_2.35", GLIBC_36,
      "loaded /lib/libm.so.6 library so=libm.so.6 vdef=GLIBC_2.35"},
     NO("the host's MPICH 5.0.2 needs GLIBC_2.35, which the image's glibc (GLIBC_2.40) "
        "lacks, and the image needs GLIBC_2.40, which the host's glibc (GLIBC_2.36) "
        "lacks; " HYBRID)},
    {{C_MPICH, IN_MPICH},
     {MPICH("5.0.2"), GLIBC_36},
     CANNOT_TELL("the host's MPICH 5.0.2 needs GLIBC_2.17, and no libc.so.6 was found "
                 "in the image; " HYBRID)},
    {{C_MPICH, IN_MPICH, GLIBC_36},
     {MPICH("5.0.2") " ver=libc.so.6:GLIBC_2.38"},
     CANNOT_TELL("the host's MPICH 5.0.2 needs GLIBC_2.38, and no libc.so.6 was found "
                 "on the host; " HYBRID)},
    /* Neither copy of a library serves both. */
    {{C_MPICH, IN_MPICH, GLIBC_36,
      "loaded /usr/lib/libz.so.1 library so=libz.so.1 vdef=ZLIB_1 vdef=ZLIB_OURS"},
     {MPICH("5.0.2"), GLIBC_36, "loaded /h/libucs.so.0 library ver=libz.so.1:ZLIB_2",
      "loaded /h/libz.so.1 library so=libz.so.1 vdef=ZLIB_1 vdef=ZLIB_2"},
     NO("'/h/libz.so.1' of the host lacks versions that '/usr/lib/libz.so.1' of the "
        "image has, and the image's lacks ZLIB_2, which the host's '/h/libucs.so.0' "
        "needs; " HYBRID)},
    /* Scripts and interpreters are judged by the image's libraries. */
    {{SCRIPT,
      "present /usr/lib/libmpich.so.12.2.2 library so=libmpich.so.12 " CALLS
      "def=MPIR_Dup_fn",
      GLIBC_36},
     {MPICH("5.0.2"), GLIBC_36},
     CHILDREN("/run.sh", "MPICH 5.0.2", "MPICH 4.0")},
    {{PYTHON,
      "present /usr/lib/libmpich.so.12 library so=libmpich.so.12 " CALLS
      "def=MPIR_Dup_fn",
      "present /usr/lib/libmpi.so.40.30.4 library so=libmpi.so.40 " CALLS
      "def=ompi_mpi_init",
      GLIBC_36},
     {MPICH("5.0.2"), GLIBC_36},
     CHILDREN("/usr/bin/python3", "MPICH 5.0.2", "MPICH")},
    /* The standard's ABI counts if the image has no library of the host's family. */
    {{PYTHON,
      "present /l/libmpi_abi.so.1 library so=libmpi_abi.so.1 " CALLS
      "def=ompi_mpi_init",
      IN_OMPI, GLIBC_36},
     {MPICH("5.0.2"), MPICH_ABI},
     CHILDREN("/usr/bin/python3", "MPICH", "Open MPI")},
    {{SCRIPT, IN_MPICH, "present /l/libmpi_abi.so.1 library so=libmpi_abi.so.1 " CALLS,
      GLIBC_36},
     {MPICH("5.0.2"), MPICH_ABI},
     CHILDREN("/run.sh", "MPICH 5.0.2", "MPICH 4.0")},
    {{SCRIPT, "present /usr/lib/libmpi.so.40.30.4 library so=libmpi.so.40 " CALLS
              "def=ompi_mpi_init"},
     {MPICH("5.0.2")},
     OTHER_FAMILY("Open MPI 4.1", "MPICH 5.0.2", "Open MPI")},
    {{SCRIPT, GLIBC_36},
     {MPICH("5.0.2")},
     CANNOT_TELL("'/run.sh' loads no MPI library, and none was found in the image; if "
                 "it uses MPI, name the program itself, or " HYBRID)},
    {{SCRIPT,
      "present /usr/lib/libmpich.so.12 library so=libmpich.so.12 " CALLS
      "def=MPIR_Dup_fn",
      "present /usr/lib/libmpichfort.so.12 library so=libmpichfort.so.12 def=mpi_init_ "
      "def=pmpi_init_ data=mpipriv1_:40"},
     {MPICH("5.0.2")},
     CANNOT_TELL("the program uses MPI from Fortran, and the host's MPICH 5.0.2 has no "
                 "library for that; " HYBRID
                 ", or a profile whose MPI has it (--mpi-bind=NAME)")},
    {{SCRIPT, "present /lib/libc.musl-x86_64.so.1 library so=libc.musl-x86_64.so.1",
      "present /usr/lib/libmpi.so.12 library so=libmpi.so.12 " CALLS "def=MPIR_Dup_fn"},
     {MPICH("5.0.2")},
     NO("the image has musl as its C library, and the host's MPICH 5.0.2 needs glibc; "
        "build the image on a distribution with glibc, or " HYBRID)},
};

static struct berth_mpi_objects image, host;
static struct berth_mpi_program program;
static struct berth_mpi_verdict verdict;

static void judge(const char *const *image_texts, const char *const *host_texts)
{
    unit_objects(&image, image_texts);
    unit_objects(&host, host_texts);
    ck_assert_int_eq(berth_mpi_program_read(&image, &program, NULL), 0);
    ck_assert_int_eq(berth_mpi_judge(&program, &image, &host, &verdict, NULL), 0);
}

static void forget(void)
{
    berth_mpi_verdict_fini(&verdict);
    berth_mpi_program_fini(&program);
    berth_mpi_objects_fini(&image);
    berth_mpi_objects_fini(&host);
}

TEST_ROWS(pairs_are_judged, cases)
{
    judge(cases[_i].image, cases[_i].host);
    ck_assert_str_eq(verdict.because.text, cases[_i].because);
    ck_assert_int_eq(verdict.answer, cases[_i].answer);
    if (program.family == BERTH_FAMILY_UNKNOWN)
        ck_assert_int_eq(verdict.reason, BERTH_REASON_IMAGE);
    forget();
}

/* A library that both sides have. */
static const struct {
    const char *image;
    const char *host;
    const char *chosen;
} collisions[] = {
    {"present /i/libstdc++.so.6 library so=libstdc++.so.6 vdef=GLIBCXX_3.4.30",
     "loaded /h/libstdc++.so.6 library so=libstdc++.so.6 vdef=GLIBCXX_3.4.30 "
     "vdef=GLIBCXX_3.4.36",
     "host"},
    {"present /i/libstdc++.so.6 library so=libstdc++.so.6 vdef=GLIBCXX_3.4.30 "
     "vdef=GLIBCXX_3.4.36",
     "loaded /h/libstdc++.so.6 library so=libstdc++.so.6 vdef=GLIBCXX_3.4.30", "image"},
    /* Neither copy serves, but the library may never be loaded. */
    {"present /i/libhwloc.so.15 library so=libhwloc.so.15 vdef=ABI_1 vdef=OURS",
     "loaded /h/libhwloc.so.15 library so=libhwloc.so.15 vdef=ABI_1 vdef=ABI_2 "
     "ver=libhwloc.so.15:ABI_2",
     "no collision"},
    {"present /i/libhwloc.so.15 library so=libhwloc.so.15",
     "loaded /h/libhwloc.so.15 library so=libhwloc.so.15", "host"},
    {"loaded /i/libfabric.so.1 library so=libfabric.so.1 vdef=FABRIC_1.0 "
     "vdef=FABRIC_1.9",
     "loaded /h/libfabric.so.1 library so=libfabric.so.1 vdef=FABRIC_1.0", "host"},
    {"present /i/libother.so.1 library so=libother.so.1",
     "loaded /h/libhwloc.so.15 library so=libhwloc.so.15", "no collision"},
    {"present /i/libm.so.6 library so=libm.so.6 vdef=GLIBC_2.2.5",
     "loaded /h/libm.so.6 library so=libm.so.6 vdef=GLIBC_2.2.5", "no collision"},
};

TEST_ROWS(one_copy_of_a_library_is_chosen, collisions)
{
    const char *const images[] = {C_MPICH, IN_MPICH, GLIBC_36, collisions[_i].image,
                                  NULL};
    const char *const hosts[] = {MPICH("5.0.2"), collisions[_i].host, NULL};
    const char *chosen = "no collision";

    judge(images, hosts);
    ck_assert_int_eq(verdict.answer, BERTH_VERDICT_YES);
    ck_assert_uint_le(verdict.choices.count, 1);
    if (verdict.choices.count)
        chosen = verdict.choices.items[0].from_host ? "host" : "image";
    ck_assert_str_eq(chosen, collisions[_i].chosen);
    forget();
}

/* The host's copy would need a newer glibc; the image's is used. */
TEST(a_copy_that_is_left_out_needs_no_glibc)
{
    const char *const images[] = {
        C_MPICH, IN_MPICH, GLIBC_36,
        "present /i/libz.so.1 library so=libz.so.1 vdef=ZLIB_1 vdef=ZLIB_2", NULL};
    const char *const hosts[] = {
        MPICH("5.0.2"),
        "loaded /h/libz.so.1 library so=libz.so.1 vdef=ZLIB_1 ver=libc.so.6:GLIBC_2.41",
        NULL};

    judge(images, hosts);
    ck_assert_int_eq(verdict.answer, BERTH_VERDICT_YES);
    ck_assert(berth_mpi_left_out(&verdict.choices, &host.items[1]));
    ck_assert(!berth_mpi_left_out(&verdict.choices, &host.items[0]));
    forget();
}

/* libgfortran is only loaded with Fortran's library; a plugin always is. */
static const struct {
    const char *image[2];
    const char *host;
    enum berth_mpi_answer answer;
} users[] = {
    {{C_MPICH}, GFORTRAN, BERTH_VERDICT_YES},
    {{C_MPICH, IN_MPICHFORT}, GFORTRAN, BERTH_VERDICT_YES_WITH_HOST_GLIBC},
    {{F_MPICH, IN_MPICHFORT}, GFORTRAN, BERTH_VERDICT_YES_WITH_HOST_GLIBC},
    {{SCRIPT}, GFORTRAN, BERTH_VERDICT_YES_WITH_HOST_GLIBC},
    {{C_MPICH},
     "loaded /h/ucx/libuct_ib.so.0 library ver=libc.so.6:GLIBC_2.38",
     BERTH_VERDICT_YES_WITH_HOST_GLIBC},
    {{C_MPICH},
     "loaded /h/libucs.so.0 library need=libgfortran.so.5 ver=libc.so.6:GLIBC_2.38",
     BERTH_VERDICT_YES_WITH_HOST_GLIBC},
};

TEST_ROWS(what_the_program_does_not_load_needs_no_glibc, users)
{
    const char *const images[] = {IN_MPICH, GLIBC_36, users[_i].image[0],
                                  users[_i].image[1], NULL};
    const char *const hosts[] = {MPICH("5.0.2"), MPICH_FORT " need=libgfortran.so.5",
                                 users[_i].host, GLIBC_41, NULL};

    judge(images, hosts);
    ck_assert_int_eq(verdict.answer, users[_i].answer);
    forget();
}
