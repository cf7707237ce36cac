/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps are looked at for an MPI that finds no other rank, by which names an MPI
 * is seen, and what is said of it. */

#include "run/singletons.h"

#include "bindover/singleton.h"
#include "mpi/filenames.h"
#include "plan/order.h"
#include "unit.h"

static const struct {
    const char *name;
    bool is_library, is_tool;
} names[] = {
    {"libmpi.so.40.30.4", true, false},
    {"libmpi.so.12", true, false},
    {"libmpich.so.12.2.2", true, false},
    {"libmpi_abi.so.1", true, false},
    {"libmpi_cray.so.12", true, false},
    {"libmpich_gnu.so.3", true, false},
    {"libmpichfort.so.12", false, false},
    {"libmpichcxx.so.12", false, false},
    {"libmpi_mpifh.so.40", false, false},
    {"libmpi_cxx.so.40", false, false},
    {"libopen-rte.so.40", false, false},
    {"libmpfr.so.6", false, false},
    {"mpirun", false, true},
    {"mpiexec.hydra", false, true},
    {"hydra_pmi_proxy", false, true},
    {"prterun", false, true},
    {"ompi_info", false, true},
    {"mpiring", false, false},
    {"python3", false, false},
};

TEST_ROWS(a_name_tells_a_library_or_a_tool, names)
{
    ck_assert_msg(berth_mpi_is_c_file_name(names[_i].name) == names[_i].is_library,
                  "%s", names[_i].name);
    ck_assert_msg(berth_singletons_is_tool(names[_i].name) == names[_i].is_tool, "%s",
                  names[_i].name);
}

static const struct {
    const char *mpi, *tasks;
    unsigned int of_component; /* tasks; 0: `berth run` */
    bool prints, wanted;
} steps[] = {
    {NULL, "SLURM_NTASKS=2", 2, true, true},
    {NULL, "SLURM_NTASKS=2", 1, true, true}, /* the other is another component's */
    {NULL, "SLURM_NTASKS=16", 0, true, false},
    {NULL, "SLURM_NTASKS=1", 1, true, false},
    {NULL, "SLURM_NTASKS=", 2, true, false},
    {NULL, "NTASKS=2", 2, true, false},
    {NULL, "SLURM_NTASKS=2", 2, false, false},
    {"off", "SLURM_NTASKS=2", 2, true, false},
    {"hybrid", "SLURM_NTASKS=2", 2, true, true}, /* as is `auto` that finds none */
    {"auto", "SLURM_NTASKS=2", 2, true, true},
    {"local-each", "SLURM_NTASKS=2", 2, true, false},
};

TEST_ROWS(several_tasks_without_a_word_about_mpi, steps)
{
    char *environment[] = {(char *)steps[_i].tasks, NULL};
    struct berth_request request = {.mpi = (char *)steps[_i].mpi};
    struct berth_order order = {.step = {.prints_component = steps[_i].prints,
                                         .tasks = steps[_i].of_component}};
    struct berth_launch launch = {
        .order = &order, .request = &request, .environment = environment};

    ck_assert(berth_singletons_wanted(&launch) == steps[_i].wanted);
}

TEST(the_warning_has_conditions_and_no_control_characters)
{
    struct berth_singleton singleton = {
        .image = "a\033[31m.sif", .type = "pmix", .mode = ""};
    struct berth_err warning;

    berth_singleton_warn(&singleton, "WHY; use srun --mpi=pmi2", &warning);
    ck_assert_str_eq(warning.text,
                     "warning: image 'a\\x1b[31m.sif': if the program uses MPI: WHY; "
                     "use srun --mpi=pmi2, and --mpi-bind for the host's library; or "
                     "--mpi-bind=off if it does not");
    singleton.mode = "auto";
    berth_singleton_warn(&singleton, "WHY; use srun --mpi=pmi2", &warning);
    ck_assert_str_eq(warning.text,
                     "warning: image 'a\\x1b[31m.sif': if the program uses MPI: WHY; "
                     "use srun --mpi=pmi2; or --mpi-bind=off if it does not");
}

TEST(other_components_wait_for_one_that_cannot_join)
{
    struct berth_singleton singleton = {
        .image = "a.sif", .type = "pmix", .mode = "", .is_several = true};
    struct berth_err warning;

    berth_singleton_warn(&singleton, "WHY; use srun --mpi=pmi2", &warning);
    ck_assert_str_eq(warning.text,
                     "warning: image 'a.sif': if the program uses MPI, the others "
                     "wait for it in MPI_Init: WHY; use srun "
                     "--mpi=pmi2, and --mpi-bind for the host's library; or "
                     "--mpi-bind=off if it does not");
    singleton.type = "none"; /* nobody waits without a process manager */
    berth_singleton_warn(&singleton, "WHY", &warning);
    ck_assert_ptr_null(strstr(warning.text, "forever"));
}
