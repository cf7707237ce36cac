/* SPDX-License-Identifier: Apache-2.0 */
/* Which process managers an MPI speaks to, and which srun offers. */

#include "mpi/pmi.h"
#include "mpi/reach.h"

#include <stdio.h>

#include "objects.h"
#include "base/text.h"
#include "unit.h"

#define MPICH_LIB                                                                      \
    "loaded /l/libmpi.so.12 library so=libmpi.so.12 def=PMPI_Init def=MPIR_Dup_fn "
#define OPENMPI_LIB                                                                    \
    "loaded /l/libmpi.so.40 library so=libmpi.so.40 def=PMPI_Init def=ompi_mpi_init "

static const struct {
    const char *objects[4];
    enum berth_mpi_family family;
    unsigned int managers;
} cases[] = {
    {{MPICH_LIB "text=PMI_FD"}, BERTH_FAMILY_MPICH, BERTH_PMI_SIMPLE},
    {{MPICH_LIB "text=PMI_FD text=fullinit"}, BERTH_FAMILY_MPICH, BERTH_PMI_SIMPLE},
    /* Ubuntu 24.04 */
    {{MPICH_LIB "need=libpmix.so.2"}, BERTH_FAMILY_MPICH, BERTH_PMI_PMIX},
    {{MPICH_LIB "und=PMIx_Init text=PMI_FD"},
     BERTH_FAMILY_MPICH,
     BERTH_PMI_PMIX | BERTH_PMI_SIMPLE},
    {{MPICH_LIB "need=libpmi2.so.0"}, BERTH_FAMILY_MPICH, BERTH_PMI_SLURM},
    {{MPICH_LIB "need=libpmi.so.0 text=CRAY~MPICH~version~8.1"},
     BERTH_FAMILY_MPICH,
     BERTH_PMI_CRAY},
    {{MPICH_LIB "need=libpmi2.so.0 need=libpals.so.0"},
     BERTH_FAMILY_MPICH,
     BERTH_PMI_CRAY},
    {{MPICH_LIB}, BERTH_FAMILY_MPICH, 0},
    {{MPICH_LIB "text=PMI_FD"}, BERTH_FAMILY_OPENMPI, 0},
    {{"loaded /l/libmpi_abi.so.1 library so=libmpi_abi.so.1 def=PMPI_Init "
      "def=MPIR_Dup_fn text=PMI_FD"},
     BERTH_FAMILY_ABI,
     BERTH_PMI_SIMPLE},
    {{"loaded /l/libmpi_abi.so.1 library so=libmpi_abi.so.1 def=PMPI_Init "
      "def=ompi_mpi_init text=PMI_FD"},
     BERTH_FAMILY_ABI,
     BERTH_PMI_PMIX},
    /* Open MPI reads PMI_FD only to check that no launcher has started it. */
    {{OPENMPI_LIB "need=libpmix.so.2 text=PMI_FD"},
     BERTH_FAMILY_OPENMPI,
     BERTH_PMI_PMIX},
    {{OPENMPI_LIB}, BERTH_FAMILY_OPENMPI, BERTH_PMI_PMIX},
    {{OPENMPI_LIB, "present /l/openmpi/mca_pmix_ext3x.so library",
      "present /l/openmpi/mca_pmix_flux.so library"},
     BERTH_FAMILY_OPENMPI,
     BERTH_PMI_PMIX},
    {{OPENMPI_LIB, "present /l/openmpi/mca_pmix_s1.so library",
      "present /l/openmpi/mca_pmix_s2.so library"},
     BERTH_FAMILY_OPENMPI,
     BERTH_PMI_SLURM},
    {{OPENMPI_LIB, "present /l/openmpi/mca_pmix_cray.so library",
      "present /l/openmpi/mca_pmix_pmix3x.so library"},
     BERTH_FAMILY_OPENMPI,
     BERTH_PMI_CRAY | BERTH_PMI_PMIX},
};

TEST_ROWS(libraries_say_whom_they_speak_to, cases)
{
    struct berth_mpi_objects objects = {0};

    unit_objects(&objects, cases[_i].objects);
    ck_assert_uint_eq(berth_mpi_managers(&objects, cases[_i].family),
                      cases[_i].managers);
    berth_mpi_objects_fini(&objects);
}

/* What was measured with MPICH 3.4 to 5.0, Intel MPI and Open MPI 4.1 and 5.0: those
 * that pass found each other. */
static const struct {
    unsigned int managers;
    const char *type;
    const char *speaks; /* NULL: they find each other */
    const char *use;
} table[] = {
    {BERTH_PMI_SIMPLE, "pmi2", NULL, NULL},
    {BERTH_PMI_SIMPLE, "pmix", "PMI", "pmi2"},
    {BERTH_PMI_SIMPLE, "pmix_v4", "PMI", "pmi2"},
    {BERTH_PMI_SIMPLE, "none", "PMI", "pmi2"},
    {BERTH_PMI_SIMPLE, "openmpi", "PMI", "pmi2"},
    {BERTH_PMI_SIMPLE, NULL, "PMI", "pmi2"},
    {BERTH_PMI_SIMPLE, "cray_shasta", "PMI", "pmi2"},
    {BERTH_PMI_PMIX, "pmi2", "PMIx", "pmix"},
    {BERTH_PMI_PMIX, "pmix", NULL, NULL},
    {BERTH_PMI_PMIX, "pmix_v3", NULL, NULL},
    {BERTH_PMI_PMIX, "pmix_v5", NULL, NULL},
    {BERTH_PMI_PMIX, "none", "PMIx", "pmix"},
    {BERTH_PMI_SLURM, "pmi2", NULL, NULL},
    {BERTH_PMI_SLURM, "pmix", "Slurm's PMI", "pmi2"},
    {BERTH_PMI_CRAY, "cray_shasta", NULL, NULL},
    {BERTH_PMI_CRAY, "pmi2", "Cray's PMI", "cray_shasta"},
    {BERTH_PMI_SIMPLE | BERTH_PMI_PMIX, "pmi2", NULL, NULL},
    {BERTH_PMI_SIMPLE | BERTH_PMI_PMIX, "pmix", NULL, NULL},
    {BERTH_PMI_SIMPLE | BERTH_PMI_PMIX, "none", "PMIx", "pmix"},
    {0, "pmix", NULL, NULL},
    {BERTH_PMI_SIMPLE, "ours", NULL, NULL},
};

TEST_ROWS(a_mismatch_names_the_right_type, table)
{
    struct berth_err err = {0};
    char expected[256] = "";
    const char *type = table[_i].type;
    int result = berth_mpi_check_manager(table[_i].managers, type, 4, false,
                                         "the host's MPI", &err);

    if (table[_i].speaks)
        snprintf(expected, sizeof(expected),
                 "the host's MPI uses %s and the step has --mpi=%s, so each of the 4 "
                 "tasks would be rank 0 of 1; use srun --mpi=%s",
                 table[_i].speaks, type ? type : "none", table[_i].use);
    ck_assert_str_eq(err.text, expected);
    ck_assert_int_eq(result, table[_i].speaks ? -1 : 0);
}

TEST_ROWS(one_task_finds_itself, table)
{
    ck_assert_int_eq(berth_mpi_check_manager(table[_i].managers, table[_i].type, 1,
                                             false, "it", NULL),
                     0);
}

TEST(only_pmi2_needs_a_het_job)
{
    struct berth_err err;

    ck_assert_int_eq(
        berth_mpi_check_manager(BERTH_PMI_SIMPLE, "pmix", 4, true, "it", &err), -1);
    ck_assert_str_eq(err.text,
                     "it uses PMI and the step has --mpi=pmix, so each of the 4 "
                     "tasks would be rank 0 of 1; "
                     "use srun --mpi=pmi2, which for several components needs a "
                     "heterogeneous job (#SBATCH hetjob, or srun outside a job)");
    ck_assert_int_eq(
        berth_mpi_check_manager(BERTH_PMI_PMIX, "pmi2", 4, true, "it", &err), -1);
    ck_assert_str_eq(err.text, "it uses PMIx and the step has --mpi=pmi2, so each of "
                               "the 4 tasks would be rank 0 of 1; use srun --mpi=pmix");
}

TEST(a_lost_contact_leaves_tasks_alone)
{
    struct berth_err err = {0};

    ck_assert_int_eq(berth_mpi_check_contact(NULL, 4, "it", &err), 0);
    ck_assert_int_eq(berth_mpi_check_contact("PMI_FD", 1, "it", &err), 0);
    ck_assert_int_eq(berth_mpi_check_contact("PMI_FD", 4, "the host's MPI", &err), -1);
    ck_assert_str_eq(err.text,
                     "the runtime removes PMI_FD, by which the host's MPI finds its "
                     "peers, so each of the 4 tasks would be rank 0 of 1; leave out "
                     "--cleanenv and --containall");
}

static const struct {
    struct berth_mpi_reach reach;
    unsigned int managers;
    const char *said; /* NULL: nothing */
} places[] = {
    {{.nodes = 2}, BERTH_PMI_SIMPLE, NULL},
    {{.nodes = 2, .pid = true, .ipc = true, .shm = true}, BERTH_PMI_SIMPLE, NULL},
    {{.separate = 1, .nodes = 2, .pid = true, .ipc = true}, BERTH_PMI_SIMPLE, NULL},
    {{.separate = 2, .nodes = 1}, BERTH_PMI_PMIX, NULL},
    {{.separate = 2, .nodes = 1, .pid = true, .ipc = true},
     BERTH_PMI_SIMPLE,
     "--pid (or --containall) gives each of the 2 tasks of this node process numbers "
     "of its own, so that the host's MPI cannot connect them; remove the flag"},
    {{.separate = 2, .nodes = 1, .ipc = true},
     BERTH_PMI_SIMPLE,
     "--ipc (or --containall) gives each of the 2 tasks of this node System V IPC of "
     "its own, so that the host's MPI cannot connect them; remove the flag"},
    {{.separate = 2, .nodes = 1, .shm = true},
     BERTH_PMI_PMIX,
     "--contain gives each of the 2 tasks of this node a /dev/shm of its own, so "
     "that the host's MPI cannot connect them; remove the flag"},
    {{.nodes = 1, .network = true}, BERTH_PMI_SIMPLE, NULL},
    {{.nodes = 1, .network = true},
     BERTH_PMI_PMIX,
     "the container has a network of its own, from which the host's MPI reaches "
     "neither Slurm nor another node; leave out --net and --network"},
    {{.nodes = 2, .network = true}, BERTH_PMI_SIMPLE, "leave out --net and --network"},
};

TEST_ROWS(what_tasks_do_not_share_is_refused, places)
{
    struct berth_err err = {0};
    int result = berth_mpi_check_reach(&places[_i].reach, places[_i].managers,
                                       "the host's MPI", &err);

    bool names_flag = berth_text_starts(err.text, "--");

    ck_assert_int_eq(result, places[_i].said ? -1 : 0);
    if (places[_i].said)
        ck_assert_ptr_nonnull(strstr(err.text, places[_i].said));
    ck_assert_int_eq(err.code == BERTH_ERR_OPTION, names_flag);
}
