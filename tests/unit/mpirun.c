/* SPDX-License-Identifier: Apache-2.0 */
/* What an mpirun inside a task gets to see. */

#include "request/mpirun.h"

#include "base/cleanup.h"
#include "base/environ.h"
#include "request/wire.h"
#include "unit.h"

enum { MOST = 20 };

#define FOR_OPEN_MPI                                                                   \
    "OMPI_MCA_rmaps_base_oversubscribe=1\n"                                            \
    "OMPI_MCA_hwloc_base_binding_policy=none\n"                                        \
    "OMPI_MCA_plm_rsh_agent=false\n"                                                   \
    "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe\n"                           \
    "PRTE_MCA_hwloc_default_binding_policy=none\n"                                     \
    "PMIX_MCA_mca_base_suppress_deprecated_warning=1\n"
#define FOR_LAUNCH                                                                     \
    "OMPI_MCA_plm_rsh_agent=false\nPMIX_MCA_mca_base_suppress_deprecated_warning=1\n"
#define SLOTS(n)                                                                       \
    "OMPI_MCA_orte_set_default_slots=" n "\nPRTE_MCA_prte_set_default_slots=" n "\n"

static const struct {
    const char *name;
    const char *mode;
    const char *own[MOST];
    const char *seen;
} cases[] = {
    {"what is not Slurm's stays",
     "local",
     {"PATH=/bin", "HOME=/h", "SLURMX=1", "NOT_SLURM_JOB_ID=1", "PMIX=1", "EMPTY="},
     "PATH=/bin\nHOME=/h\nSLURMX=1\nNOT_SLURM_JOB_ID=1\nPMIX=1\nEMPTY=\n" FOR_OPEN_MPI},
    {"an allocation is hidden",
     "local",
     {"SLURM_JOB_ID=1", "SLURM_JOBID=1", "SLURM_JOB_NODELIST=n1", "SLURM_NODELIST=n1",
      "SLURM_TASKS_PER_NODE=1", "SLURM_NNODES=1", "SLURM_NODEID=0", "SLURM_STEP_ID=0",
      "SLURM_MPI_TYPE=pmix", "SLURM_PROCID=0", "SLURMD_NODENAME=n1"},
     FOR_OPEN_MPI "OMPI_MCA_orte_top_session_dir=/tmp/ompi.1.0.0\n"},
    {"a process manager is hidden",
     "local",
     {"PMI_FD=17", "PMI_RANK=0", "PMI2_DEBUG=1", "PMIX_RANK=0", "PMIX_SERVER_TMPDIR=/t",
      "PALS_APID=1"},
     FOR_OPEN_MPI},
    {"what Slurm sets for an mpirun on its nodes is hidden",
     "local",
     {"HYDRA_BOOTSTRAP=slurm", "HYDRA_LAUNCHER_EXTRA_ARGS=--external-launcher",
      "I_MPI_HYDRA_BOOTSTRAP=slurm", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS=--e",
      "OMPI_MCA_plm_slurm_args=--external-launcher",
      "PRTE_MCA_plm_slurm_args=--external-launcher",
      "OMPI_MCA_orte_precondition_transports=1-2"},
     FOR_OPEN_MPI},
    {"what a site sets for its own mpirun is hidden",
     "local",
     {"OMPI_MCA_plm=slurm", "OMPI_MCA_ras=slurm", "OMPI_MCA_ess=pmi",
      "OMPI_MCA_pmix=s1", "OMPI_MCA_plm_rsh_agent=/site/ssh", "PRTE_MCA_plm=slurm",
      "PRTE_MCA_ras=slurm", "PRTE_MCA_ess=slurm", "HYDRA_RMK=slurm",
      "I_MPI_HYDRA_RMK=slurm", "I_MPI_PMI_LIBRARY=/lib/libpmi2.so"},
     FOR_OPEN_MPI},
    {"an mpirun around srun is hidden",
     "local",
     {"OMPI_COMM_WORLD_RANK=0", "OMPI_UNIVERSE_SIZE=2", "PRTE_LAUNCHED=1"},
     FOR_OPEN_MPI},
    {"tuning stays",
     "local",
     {"OMPI_MCA_btl=self,vader", "OMPI_MCA_plm_base_verbose=5", "PMIX_MCA_gds=hash",
      "PRTE_MCA_prte_tmpdir_base=/t", "I_MPI_FABRICS=shm", "FI_PROVIDER=tcp",
      "UCX_TLS=sm", "MPIR_CVAR_X=1", "HYDRA_IFACE=lo"},
     "OMPI_MCA_btl=self,vader\nOMPI_MCA_plm_base_verbose=5\nPMIX_MCA_gds=hash\n"
     "PRTE_MCA_prte_tmpdir_base=/t\nI_MPI_FABRICS=shm\nFI_PROVIDER=tcp\nUCX_TLS=sm\n"
     "MPIR_CVAR_X=1\nHYDRA_IFACE=lo\n" FOR_OPEN_MPI},
    {"what scripts need stays",
     "local",
     {"SLURM_ARRAY_TASK_ID=7", "SLURM_ARRAY_JOB_ID=9", "SLURM_SUBMIT_DIR=/s",
      "SLURM_JOB_NAME=j", "SLURM_JOB_END_TIME=3", "SLURM_RESTART_COUNT=1",
      "SLURM_TMPDIR=/t"},
     "SLURM_ARRAY_TASK_ID=7\nSLURM_ARRAY_JOB_ID=9\nSLURM_SUBMIT_DIR=/s\n"
     "SLURM_JOB_NAME=j\nSLURM_JOB_END_TIME=3\nSLURM_RESTART_COUNT=1\nSLURM_TMPDIR=/"
     "t\n" FOR_OPEN_MPI},
    {"one task has the CPUs of its step",
     "local",
     {"SLURM_CPUS_ON_NODE=16"},
     "SLURM_CPUS_ON_NODE=16\n" SLOTS("16") FOR_OPEN_MPI},
    {"one task has the CPUs that it asked for",
     "local",
     {"SLURM_CPUS_ON_NODE=16", "SLURM_CPUS_PER_TASK=8"},
     "SLURM_CPUS_ON_NODE=16\n" SLOTS("8") FOR_OPEN_MPI},
    {"of several, each can be told, and has one CPU",
     "local-each",
     {"SLURM_CPUS_ON_NODE=16", "SLURM_PROCID=3", "SLURM_LOCALID=1", "PMI_RANK=3"},
     "SLURM_CPUS_ON_NODE=16\nSLURM_PROCID=3\n" SLOTS("1") FOR_OPEN_MPI},
    {"of several, each has the CPUs that it asked for",
     "local-each",
     {"SLURM_CPUS_PER_TASK=2", "SLURM_NTASKS=200"},
     SLOTS("2") FOR_OPEN_MPI},
    {"what is set stays",
     "local",
     {"SLURM_CPUS_ON_NODE=4", "OMPI_MCA_orte_set_default_slots=2",
      "PRTE_MCA_prte_set_default_slots=3", "OMPI_MCA_rmaps_base_oversubscribe=0",
      "PRTE_MCA_rmaps_default_mapping_policy=core",
      "OMPI_MCA_hwloc_base_binding_policy=core",
      "PRTE_MCA_hwloc_default_binding_policy=",
      "PMIX_MCA_mca_base_suppress_deprecated_warning=0"},
     "SLURM_CPUS_ON_NODE=4\nOMPI_MCA_orte_set_default_slots=2\n"
     "PRTE_MCA_prte_set_default_slots=3\nOMPI_MCA_rmaps_base_oversubscribe=0\n"
     "PRTE_MCA_rmaps_default_mapping_policy=core\n"
     "OMPI_MCA_hwloc_base_binding_policy=core\n"
     "PRTE_MCA_hwloc_default_binding_policy=\n"
     "PMIX_MCA_mca_base_suppress_deprecated_warning=0\nOMPI_MCA_plm_rsh_agent=false\n"},
    {"each task has its own session directory",
     "local-each",
     {"SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_PROCID=3"},
     "SLURM_PROCID=3\n" SLOTS("1") FOR_OPEN_MPI
     "OMPI_MCA_orte_top_session_dir=/tmp/ompi.7.0.3\n"},
    {"in the job's own place",
     "local",
     {"SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_PROCID=0", "TMPDIR=/t"},
     "TMPDIR=/t\n" FOR_OPEN_MPI "OMPI_MCA_orte_top_session_dir=/t/ompi.7.0.0\n"},
    {"which has a path",
     "local",
     {"SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_PROCID=0", "TMPDIR="},
     "TMPDIR=\n" FOR_OPEN_MPI "OMPI_MCA_orte_top_session_dir=/tmp/ompi.7.0.0\n"},
    {"or where the user wants it",
     "local",
     {"SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_PROCID=0",
      "OMPI_MCA_orte_tmpdir_base=/u"},
     "OMPI_MCA_orte_tmpdir_base=/u\n" FOR_OPEN_MPI},
    {"on the nodes of a job, it sees the job, and how to start on nodes",
     "launch",
     {"SLURM_JOB_ID=7", "SLURM_NTASKS=8", "OMPI_MCA_plm=slurm", "OMPI_MCA_ras=slurm",
      "OMPI_MCA_plm_slurm_args=-e", "PRTE_MCA_plm=slurm", "PRTE_MCA_ras=slurm",
      "PRTE_MCA_plm_slurm_args=-e", "HYDRA_BOOTSTRAP=ssh", "HYDRA_RMK=slurm",
      "HYDRA_LAUNCHER_EXTRA_ARGS=-e", "I_MPI_HYDRA_BOOTSTRAP=ssh",
      "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS=-e", "I_MPI_HYDRA_RMK=slurm",
      "I_MPI_PMI_LIBRARY=/lib/libpmi2.so"},
     "SLURM_JOB_ID=7\nSLURM_NTASKS=8\nOMPI_MCA_plm=slurm\nOMPI_MCA_ras=slurm\n"
     "OMPI_MCA_plm_slurm_args=-e\nPRTE_MCA_plm=slurm\nPRTE_MCA_ras=slurm\n"
     "PRTE_MCA_plm_slurm_args=-e\nHYDRA_BOOTSTRAP=ssh\nHYDRA_RMK=slurm\n"
     "HYDRA_LAUNCHER_EXTRA_ARGS=-e\nI_MPI_HYDRA_BOOTSTRAP=ssh\n"
     "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS=-e\nI_MPI_HYDRA_RMK=slurm\n" FOR_LAUNCH},
};

TEST_ROWS(an_mpirun_sees_its_task, cases)
{
    struct berth_request request = {.mpi = (char *)cases[_i].mode};
    BERTH_STRVEC struct berth_strvec seen = {0};
    const struct berth_strvec none = {0};
    BERTH_FREE char *lines = NULL;
    const char *temporary = berth_environ_value((char *const *)cases[_i].own, "TMPDIR");
    bool has_temporary = temporary && *temporary;
    struct berth_err err;

    ck_assert_int_eq(berth_mpirun_environment(&request, (char *const *)cases[_i].own,
                                              &none, has_temporary, &seen, &err),
                     0);
    lines = unit_lines(&seen);
    ck_assert_msg(strcmp(lines, cases[_i].seen) == 0, "%s: got\n%s", cases[_i].name,
                  lines);
}

TEST(an_mpirun_sees_the_job_and_not_its_step)
{
    char *const own[] = {(char *)"A=1",
                         (char *)"SLURM_JOB_ID=7",
                         (char *)"SLURM_NTASKS=1",
                         (char *)"SLURM_STEP_ID=0",
                         (char *)"SLURM_BERTH_JOB=x",
                         (char *)"SLURMD_NODENAME=n1",
                         (char *)"PMI_FD=9",
                         (char *)"PMIX_RANK=0",
                         (char *)"OMPI_COMM_WORLD_RANK=0",
                         (char *)"OMPI_MCA_plm_rsh_agent=/site/ssh",
                         NULL};
    const struct berth_request launch = {.mpi = (char *)"launch"};
    BERTH_STRVEC struct berth_strvec job = {0};
    BERTH_STRVEC struct berth_strvec seen = {0};
    BERTH_FREE char *lines = NULL;
    struct berth_err err;

    berth_strvec_push(&job, "SLURM_JOB_ID=7");
    berth_strvec_push(&job, "SLURM_NTASKS=8");
    ck_assert_int_eq(berth_mpirun_environment(&launch, own, &job, true, &seen, &err),
                     0);
    lines = unit_lines(&seen);
    ck_assert_str_eq(
        lines, "A=1\nSLURMD_NODENAME=n1\nSLURM_JOB_ID=7\nSLURM_NTASKS=8\n" FOR_LAUNCH
               "HYDRA_BOOTSTRAP=slurm\nI_MPI_HYDRA_BOOTSTRAP=slurm\n");
}

TEST(srun_sends_what_it_knows_of_the_job)
{
    char *const own[] = {(char *)"A=1", (char *)"SLURM_NTASKS=8",
                         (char *)"SLURM_BERTH_STEP=x", (char *)"SLURMD_X=1", NULL};
    const struct berth_request launch = {.mpi = (char *)"launch"};
    const struct berth_request local = {.mpi = (char *)"local"};
    BERTH_STRVEC struct berth_strvec sent = {0};
    BERTH_FREE char *lines = NULL;

    berth_mpirun_job(&local, own, &sent);
    ck_assert_uint_eq(sent.count, 0);
    berth_mpirun_job(&launch, own, &sent);
    lines = unit_lines(&sent);
    ck_assert_str_eq(lines, "SLURM_NTASKS=8\n");
}

TEST(a_launch_needs_a_job)
{
    const struct berth_request launch = {.mpi = (char *)"launch"};
    const struct berth_request local = {.mpi = (char *)"local"};
    struct berth_err err;

    ck_assert_int_eq(berth_mpirun_check_job(&launch, "7", &err), 0);
    ck_assert_int_eq(berth_mpirun_check_job(&local, NULL, &err), 0);
    ck_assert_int_eq(berth_mpirun_check_job(&launch, NULL, &err), -1);
    ck_assert_str_eq(
        err.text,
        "--mpi-bind=launch: it needs the nodes of a job, and there is no job yet; get "
        "one with sbatch or salloc, and give this option to an srun in that job");
}

static const struct {
    const char *own[MOST];
    int fd;
} descriptors[] = {
    {{"PMI_FD=17"}, 17}, {{"A=1", "PMI_FD=3"}, 3}, {{"A=1"}, -1},
    {{"PMI_FD="}, -1},   {{"PMI_FD=x"}, -1},       {{"PMI_FD=5x"}, -1},
    {{"PMI_FD=2"}, -1},  {{"PMI_FD=-7"}, -1},      {{"PMI_FD=9999999999"}, -1},
    {{"PMI_FDS=7"}, -1},
};

TEST_ROWS(the_process_manager_has_a_descriptor, descriptors)
{
    ck_assert_int_eq(berth_mpirun_descriptor((char *const *)descriptors[_i].own),
                     descriptors[_i].fd);
}

TEST(more_than_one_task_is_refused)
{
    struct berth_request local = {.mpi = (char *)"local"};
    struct berth_request each = {.mpi = (char *)"local-each"};
    struct berth_request launch = {.mpi = (char *)"launch"};
    struct berth_request unsaid = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_mpirun_check_tasks(&local, 0, &err), 0);
    ck_assert_int_eq(berth_mpirun_check_tasks(&local, 1, &err), 0);
    ck_assert_int_eq(berth_mpirun_check_tasks(&each, 2, &err), 0);
    ck_assert_int_eq(berth_mpirun_check_tasks(&unsaid, 2, &err), 0);
    ck_assert_int_eq(berth_mpirun_check_tasks(&local, 4, &err), -1);
    ck_assert_str_eq(err.text,
                     "--mpi-bind=local: only one task may start an mpirun, "
                     "but 4 tasks would; use -n1 -c4, or --mpi-bind=local-each "
                     "for an mpirun in every task");
    ck_assert_int_eq(berth_mpirun_check_tasks(&launch, 1, &err), 0);
    ck_assert_int_eq(berth_mpirun_check_tasks(&launch, 4, &err), -1);
    ck_assert_str_eq(err.text,
                     "--mpi-bind=launch: only one task may start an mpirun on "
                     "the job's nodes, but 4 tasks would; use -N1 -n1, and tell the "
                     "mpirun how many ranks to start");
}

static const struct {
    const char *mode;
    unsigned long tasks;
    const char *command;
    const char *refused; /* NULL: it is not */
} commands[] = {
    {"host", 4, "/opt/bin/mpirun",
     "--mpi-bind=host: srun starts the ranks, and each of the 4 tasks would start "
     "'/opt/bin/mpirun'; leave the mpirun out, or use --mpi-bind=local for an mpirun "
     "in one "
     "task"},
    {"auto", 2, "mpiexec.hydra",
     "--mpi-bind=auto: srun starts the ranks, and each of the 2 tasks would start "
     "'mpiexec.hydra'; leave the mpirun out, or use --mpi-bind=local for an mpirun in "
     "one "
     "task"},
    {"host", 1, "mpirun", NULL},
    {"hybrid", 0, "mpirun", NULL},
    {"off", 4, "mpirun", NULL},
    {NULL, 4, "mpirun", NULL},
    {"local-each", 4, "mpirun", NULL},
    {"host", 4, "./mpirun_me", NULL},
    {"host", 4, "mpirun/app", NULL},
    {"host", 4, "", NULL},
};

TEST_ROWS(several_tasks_are_no_mpiruns, commands)
{
    const struct berth_request request = {.image = (char *)"/a",
                                          .mpi = (char *)commands[_i].mode};
    struct berth_err err = {0};

    ck_assert_int_eq(berth_mpirun_check_command(&request, commands[_i].tasks,
                                                commands[_i].command, &err),
                     commands[_i].refused ? -1 : 0);
    ck_assert_str_eq(err.text, commands[_i].refused ? commands[_i].refused : "");
}

static const struct {
    const char *mode;
    unsigned long tasks;
    const char *command;
    bool is_repeated, is_alone;
} plain[] = {
    {NULL, 4, "/opt/bin/mpirun", true, false}, {NULL, 1, "mpirun", false, true},
    {NULL, 0, "mpirun", false, false}, /* not known */
    {NULL, 4, "./app", false, false},          {NULL, 1, "./app", false, false},
    {"off", 4, "mpirun", false, false},        {"off", 1, "mpirun", false, false},
    {"host", 4, "mpirun", false, false},       {"local", 1, "mpirun", false, false},
    {"local-each", 4, "mpirun", false, false},
};

TEST_ROWS(an_mpirun_without_a_word_of_mpi_bind, plain)
{
    const struct berth_request request = {.image = (char *)"/a",
                                          .mpi = (char *)plain[_i].mode};
    const struct berth_request no_image = {0};
    struct berth_err warning = {.text = ""};

    ck_assert(berth_mpirun_is_repeated(&request, plain[_i].tasks, plain[_i].command,
                                       &warning) == plain[_i].is_repeated);
    ck_assert(berth_mpirun_is_alone(&request, plain[_i].tasks, plain[_i].command) ==
              plain[_i].is_alone);
    ck_assert_str_eq(
        warning.text,
        plain[_i].is_repeated
            ? "warning: image '/a': each of the 4 tasks starts '/opt/bin/mpirun', and "
              "none of these knows of the others' ranks; leave it out, as srun starts "
              "the ranks, or give --mpi-bind=local-each if you want each"
            : "");
    ck_assert(!berth_mpirun_is_repeated(&no_image, 4, "mpirun", &warning));
    ck_assert(!berth_mpirun_is_alone(&no_image, 1, "mpirun"));
}

#define TWO_WORLDS(mode, other)                                                        \
    "--mpi-bind=" mode ": other ranks of this srun have " other                        \
    ", and ranks with two MPI libraries wait in MPI_Init forever; give "               \
    "--mpi-bind=" mode " to all, on both sides of ':', or each an srun of its own"
#define WOULD_WAIT(local, shared) TWO_WORLDS(local, "--mpi-bind=" shared)
#define MIXED(late, early)        TWO_WORLDS(late, "--mpi-bind=" early)
#define FORGOTTEN(mode)           TWO_WORLDS(mode, "an image and no --mpi-bind")

static const struct {
    const char *table;
    const char *refused; /* NULL: it is not */
} tables[] = {
    {"1;*:image=/a&mpi-bind=local;.", NULL},
    {"1;0:image=/a&mpi-bind=local;1:image=/a&mpi-bind=local-each;.", NULL},
    {"1;0:image=/a&mpi-bind=local;1:image=/a&mpi-bind=off;2:image=/b;3:;.", NULL},
    {"1;0:image=/a&mpi-bind=hybrid;1:image=/a&mpi-bind=auto;.", NULL},
    {"1;0:image=/a&mpi-bind=launch;1:image=/a&mpi-bind=host;.",
     WOULD_WAIT("launch", "host")},
    {"1;0:image=/a&mpi-bind=hybrid;1:image=/a&mpi-bind=local;.",
     WOULD_WAIT("local", "hybrid")},
    {"1;0:image=/a&mpi-bind=local-each;1:;2:image=/a&mpi-bind=cray;.",
     WOULD_WAIT("local-each", "cray")},
    {"1;0:image=/a&mpi-bind=host;1:image=/b&mpi-bind=host;2:;.", NULL},
    {"1;0:image=/a&mpi-bind=host;1:image=/b&mpi-bind=mpich;.", NULL},
    {"1;0:image=/a&mpi-bind=mpich;1:image=/b&mpi-bind=mpich;.", NULL},
    {"1;0:image=/a&mpi-bind=host;1:image=/b&mpi-bind=off;.", NULL},
    {"1;0:image=/a&mpi-bind=auto;1:image=/b&mpi-bind=host;.", NULL},
    {"1;0:image=/a;1:image=/b&mpi-bind=auto;2:image=/b&mpi-bind=hybrid;.", NULL},
    {"1;0:;1:image=/b&mpi-bind=host;2:image=none;.", NULL},
    {"1;0:image=/a;1:image=/b&mpi-bind=host;.", FORGOTTEN("host")},
    {"1;0:image=/b&mpi-bind=mpich;1:image=/a;2:image=/a&mpi-bind=auto;.",
     FORGOTTEN("mpich")},
    {"1;0:image=/a&mpi-bind=hybrid;1:image=/b&mpi-bind=host;.",
     MIXED("host", "hybrid")},
    {"1;0:image=/a&mpi-bind=cray;1:image=/b;2:image=/b&mpi-bind=hybrid;.",
     MIXED("hybrid", "cray")},
    {"1;0:image=/a&mpi-bind=auto;1:image=/a&mpi-bind=mpich;2:image=/"
     "b&mpi-bind=openmpi;.",
     MIXED("openmpi", "mpich")},
};

/* `auto` in each component: what it may choose. */
static const struct {
    const char *table;
    const char *chosen;
} worlds[] = {
    {"1;*:image=/a&mpi-bind=auto;.", "1;*:image=/a&mpi-bind=auto;."},
    {"1;0:image=/a&mpi-bind=auto;1:image=/b&mpi-bind=auto;.",
     "1;0:image=/a&mpi-bind=auto&world=host;1:image=/b&mpi-bind=auto&world=host;."},
    {"1;0:image=/a&mpi-bind=auto;1:image=/a&mpi-bind=auto;.",
     "1;*:image=/a&mpi-bind=auto&world=host;."},
    {"1;0:image=/a&mpi-bind=auto;1:image=/b&mpi-bind=host;.",
     "1;0:image=/a&mpi-bind=auto&world=host;1:image=/b&mpi-bind=host;."},
    {"1;0:;1:image=/b&mpi-bind=auto;.", "1;0:;1:image=/b&mpi-bind=auto&world=host;."},
    {"1;0:image=/a&mpi-bind=auto;1:image=/b&mpi-bind=hybrid;.",
     "1;0:image=/a&mpi-bind=auto&world=own;1:image=/b&mpi-bind=hybrid;."},
    {"1;0:image=/a;1:image=/b&mpi-bind=auto;.",
     "1;0:image=/a;1:image=/b&mpi-bind=auto&world=own;."},
    {"1;0:image=/a&mpi-bind=auto&world=own;1:image=/b&mpi-bind=host&world=host;.",
     "1;0:image=/a&mpi-bind=auto&world=host;1:image=/b&mpi-bind=host;."},
};

TEST_ROWS(no_node_has_to_guess_what_others_choose, worlds)
{
    BERTH_TABLE struct berth_table table = {0};
    BERTH_FREE char *text = NULL;
    struct berth_err err = {0};

    ck_assert_int_eq(berth_wire_get_table(worlds[_i].table, &table, &err), 0);
    berth_mpirun_set_worlds(&table);
    ck_assert_int_eq(berth_wire_put_table(&table, &text, &err), 0);
    ck_assert_str_eq(text, worlds[_i].chosen);
}

TEST_ROWS(nobody_waits_for_who_never_comes, tables)
{
    BERTH_TABLE struct berth_table table = {0};
    struct berth_err err = {0};
    int refused;

    ck_assert_int_eq(berth_wire_get_table(tables[_i].table, &table, &err), 0);
    refused = berth_mpirun_check_table(&table, false, &err);
    ck_assert_int_eq(refused, tables[_i].refused ? -1 : 0);
    if (tables[_i].refused)
        ck_assert_str_eq(err.text, tables[_i].refused);
}

TEST(a_site_may_say_what_the_user_forgot)
{
    BERTH_TABLE struct berth_table table = {0};
    struct berth_err err = {0};

    ck_assert_int_eq(
        berth_wire_get_table("1;0:image=/a;1:image=/b&mpi-bind=host;.", &table, &err),
        0);
    ck_assert_int_eq(berth_mpirun_check_table(&table, false, &err), -1);
    ck_assert_int_eq(berth_mpirun_check_table(&table, true, &err), 0);
}

TEST(a_session_needs_a_directory_of_the_container)
{
    char *const own[] = {(char *)"SLURM_JOB_ID=7", (char *)"SLURM_STEP_ID=0",
                         (char *)"SLURM_PROCID=0", (char *)"TMPDIR=/t", NULL};
    const struct berth_request local = {.mpi = (char *)"local"};
    BERTH_STRVEC struct berth_strvec seen = {0};
    const struct berth_strvec none = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_mpirun_environment(&local, own, &none, false, &seen, &err),
                     0);
    ck_assert(berth_strvec_has(&seen, "OMPI_MCA_orte_top_session_dir=/tmp/ompi.7.0.0"));
}
