/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a command of the host that a program in a container starts. */

#include "inside/hostenv.h"

#include "base/cleanup.h"
#include "unit.h"

enum { MOST = 10 };

/* Environments of the task, of the container and of the program, and the result. */
static const struct {
    const char *name;
    const char *task[MOST];
    const char *container[MOST];
    const char *program[MOST];
    const char *result;
} cases[] = {
    {"what nobody touched", {"A=1"}, {"A=1"}, {"A=1"}, "A=1\n"},
    {"what the program has set", {"A=1"}, {"A=1"}, {"A=1", "B=2"}, "A=1\nB=2\n"},
    {"what it has changed", {"A=1"}, {"A=1"}, {"A=2"}, "A=2\n"},
    {"what it has unset", {"A=1", "B=1"}, {"A=1", "B=1"}, {"B=1"}, "B=1\n"},
    {"what the image has set",
     {"A=1"},
     {"A=1", "APP=/app"},
     {"A=1", "APP=/app"},
     "A=1\n"},
    {"what the image has changed", {"A=1"}, {"A=2"}, {"A=2"}, "A=1\n"},
    {"and then the program", {"A=1"}, {"A=2"}, {"A=3"}, "A=3\n"},
    {"what the container has removed", {"A=1"}, {NULL}, {NULL}, "A=1\n"},
    {"another task's own",
     {"SLURM_PROCID=0"},
     {"SLURM_PROCID=0"},
     {"SLURM_PROCID=3"},
     "SLURM_PROCID=3\n"},
    {"PATH is the host's", {"PATH=/h"}, {"PATH=/i"}, {"PATH=/i:/mine"}, "PATH=/h\n"},
    {"so is what leads the loader",
     {"LD_LIBRARY_PATH=/h"},
     {NULL},
     {"LD_LIBRARY_PATH=/i", "LD_PRELOAD=/evil.so", "GLIBC_TUNABLES=x=y"},
     "LD_LIBRARY_PATH=/h\n"},
    {"a process manager is for one step",
     {"PMI_FD=3", "PMIX_RANK=0", "PMIX_MCA_psec=native"},
     {"PMI_FD=3", "PMIX_RANK=0", "PMIX_MCA_psec=native"},
     {"PMI_FD=3", "PMIX_RANK=0", "PMIX_MCA_psec=native", "PMI_RANK=1"},
     "PMIX_MCA_psec=native\n"},
    {"so are bound CPUs, and where to ask",
     {"SLURM_CPU_BIND=mask_cpu:0x1", "SLURM_MEM_BIND_LIST=1"},
     {"SLURM_CPU_BIND=mask_cpu:0x1", "BERTH_INSIDE=1a.2b"},
     {"SLURM_CPU_BIND=mask_cpu:0x1", "BERTH_INSIDE=1a.2b",
      "BERTH_INSIDE_PATH=/proc/1/fd/7"},
     ""},
    {"options of the step's own environment are in its request",
     {"BERTH_CONTAINER_IMAGE=/b.sif", "BERTH_MPI_BIND=host"},
     {"BERTH_CONTAINER_IMAGE=/b.sif", "BERTH_MPI_BIND=host"},
     {"BERTH_CONTAINER_IMAGE=/b.sif", "BERTH_MPI_BIND=off"},
     "BERTH_MPI_BIND=off\n"},
    {"the rank of the task in PyTorch",
     {"SLURM_PROCID=1"},
     {"SLURM_PROCID=0", "PYTORCH_VERSION=2.2"},
     {"SLURM_PROCID=1", "PYTORCH_VERSION=2.2", "RANK=1", "LOCAL_RANK=7"},
     "SLURM_PROCID=1\nLOCAL_RANK=7\n"},
    {"a name that begins another", {"AB=1"}, {"AB=1"}, {"A=2", "AB=1"}, "AB=1\nA=2\n"},
};

/* The environment of case I, without the variables of each step. */
static char *environment_of(size_t i, struct berth_strvec *ret)
{
    static char *command[] = {(char *)"srun", (char *)"--container-image=/b.sif", NULL};
    struct berth_request request = {.image = (char *)"/a.sif"};
    const struct berth_strvec pytorch = {0};
    const struct berth_hostenv outside = {.task = (char *const *)cases[i].task,
                                          .container =
                                              (char *const *)cases[i].container,
                                          .program = (char *const *)cases[i].program,
                                          .request = &request,
                                          .pytorch = &pytorch,
                                          .command = command};
    struct berth_err err;

    ck_assert_int_eq(berth_hostenv_environment(&outside, ret, &err), 0);
    ck_assert_str_eq(ret->items[ret->count - 2], "SLURM_OVERLAP=1");
    ck_assert_str_eq(ret->items[ret->count - 1], "SLURM_BERTH_JOB=1;*:image=/a.sif;.");
    ret->count -= 2;
    return unit_lines(ret);
}

TEST_ROWS(a_program_keeps_what_is_its_own, cases)
{
    struct berth_strvec result = {0};
    BERTH_FREE char *lines = environment_of((size_t)_i, &result);

    ck_assert_msg(strcmp(lines, cases[_i].result) == 0, "%s: got\n%s", cases[_i].name,
                  lines);
    result.count += 2;
    berth_strvec_fini(&result);
}

/* The step's REQUEST, and COMMAND; the last but one variable and the last one. */
static void look(const struct berth_request *request, const char *const *command,
                 const char *last_but_one, const char *last)
{
    BERTH_STRVEC struct berth_strvec result = {0};
    static char *none[] = {(char *)"A=1", NULL};
    const struct berth_hostenv outside = {.task = none,
                                          .container = none,
                                          .program = none,
                                          .request = request,
                                          .command = (char *const *)command};
    struct berth_err err;

    ck_assert_int_eq(berth_hostenv_environment(&outside, &result, &err), 0);
    ck_assert_str_eq(result.items[result.count - 2], last_but_one);
    ck_assert_str_eq(result.items[result.count - 1], last);
}

/* Command lines, and what they say of a new step. */
static const struct {
    const char *words; /* between blanks */
    bool sharing, image;
} lines[] = {
    {"srun x", false, false},
    {"srun", false, false},
    {"srun -n 1 --exact x", true, false},
    {"srun --exclusive=user x", true, false},
    {"srun --exact=", true, false},
    {"srun -n1 --overlap -- x", true, false},
    {"srun --container-image /b x", false, true},
    {"srun --container-image=/b x", false, true},
    {"srun --site-container-image=/b x", false, true},
    {"srun --container-workdir /container-image x", false, false},
    {"srun -n1 echo --exact", false, false},
    {"srun -n1 echo --exactly --container-image=/b", false, false},
    {"srun -n 1 echo --exact", false, false},
    {"srun -ln 1 echo --exact", false, false},
    {"srun -n 1 -l --exact echo", true, false},
    {"srun -ln1 echo --exact", false, false},
    {"srun -lI echo --exact", false, false},
    {"srun -In --exact", true, false},
    {"srun -J --exact x", false, false},
    {"srun --job-name --exact x", false, false},
    {"srun --job-name=a --exact x", true, false},
    {"srun --label x --exact", false, false},
    {"srun --mpi-bind x --exact", false, false},
    {"srun --site-container-writable x --exact", false, false},
    {"srun --container-remap-root x --container-image=/b", false, false},
    {"srun --container-mounts /a --container-image=/b x", false, true},
    {"srun -n1 -- --exact", false, false},
    {"srun - --exact", false, false},
    {"srun --exactly x", false, false},
    {"srun --inexact x", false, false},
    {"srun --bcontainer-image=/b x", false, true},
    {"srun x --exact : -n 1 y", false, false},
    {"srun x : -n 1 --exact y --container-image=/b", true, false},
    {"srun x : y : --container-image=/b y", false, true},
    {"srun -n", false, false},
    {"sbatch -n1 x", true, false},
    {"salloc x", true, false},
};

TEST_ROWS(a_command_line_is_read_up_to_its_commands, lines)
{
    const struct berth_request request = {.image = (char *)"/a.sif"};
    BERTH_FREE char *text = strdup(lines[_i].words);
    const char *words[MOST] = {NULL};
    size_t count = 0;

    for (char *rest = text; count < MOST - 1 && rest;)
        words[count++] = strsep(&rest, " ");
    look(&request, words, lines[_i].sharing ? "A=1" : "SLURM_OVERLAP=1",
         "SLURM_BERTH_JOB=1;*:image=/a.sif;.");
    ck_assert_msg(berth_hostenv_has_image((char *const *)words) == lines[_i].image,
                  "%s", lines[_i].words);
}

TEST(a_new_step_has_the_options_of_this_one)
{
    struct berth_request request = {.image = (char *)"/a.sif",
                                    .workdir = (char *)"/w",
                                    .lifetime = (char *)"job",
                                    .mpi = (char *)"host",
                                    .writable = BERTH_YES};
    static const char *const command[] = {"srun", "x", NULL};

    look(&request, command, "SLURM_OVERLAP=1",
         "SLURM_BERTH_JOB=1;*:image=/a.sif&writable=&lifetime=job&mpi-bind=host;.");
    request.mpi = (char *)"launch";
    look(&request, command, "SLURM_OVERLAP=1",
         "SLURM_BERTH_JOB=1;*:image=/a.sif&writable=&lifetime=job;.");
}

/* The last COUNT variables for COMMAND of a batch script in /a.sif, whose job has TASK
 * as its environment. */
static void look_script(const char *const *task, const char *const *command,
                        size_t count, const char *expected)
{
    const struct berth_request request = {.image = (char *)"/a.sif"};
    BERTH_STRVEC struct berth_strvec result = {0};
    const struct berth_hostenv outside = {.task = (char *const *)task,
                                          .container = (char *const *)task,
                                          .program = (char *const *)task,
                                          .request = &request,
                                          .is_script = true,
                                          .command = (char *const *)command};
    BERTH_FREE char *text = NULL;
    struct berth_err err;

    ck_assert_int_eq(berth_hostenv_environment(&outside, &result, &err), 0);
    text = unit_lines(&result);
    ck_assert_str_eq(text + strlen(text) - strlen(expected), expected);
    ck_assert_int_eq(result.count, count);
}

TEST(a_step_of_a_script_has_the_cpus_and_the_options_of_the_job)
{
    static const char *const none[] = {"A=1", NULL};
    static const char *const het[] = {
        "SLURM_BERTH_JOB=1;0:image=/a.sif;1:image=/b.sif;.", "A=1", NULL};
    static const char *const oci[] = {"SLURM_CONTAINER=/a.sif", NULL};
    static const char *const other[] = {"SLURM_CONTAINER=/a.sif",
                                        "SRUN_CONTAINER=/b.sif", NULL};
    static const char *const ocihet[] = {
        "SLURM_BERTH_JOB=1;0:image=/a.sif;1:image=/b.sif;.", "SLURM_CONTAINER=/a.sif",
        NULL};
    static const char *const srun[] = {"srun", "x", NULL};
    static const char *const sbatch[] = {"sbatch", "x", NULL};

    look_script(none, srun, 2, "A=1\nSLURM_BERTH_JOB=1;*:image=/a.sif;.\n");
    look_script(het, srun, 2,
                "A=1\nSLURM_BERTH_JOB=1;0:image=/a.sif;1:image=/b.sif;.\n");
    look_script(oci, srun, 3,
                "SRUN_CONTAINER=/a.sif\nSLURM_BERTH_JOB=1;*:image=/a.sif;.\n");
    look_script(oci, sbatch, 2,
                "SLURM_CONTAINER=/a.sif\nSLURM_BERTH_JOB=1;*:image=/a.sif;.\n");
    look_script(ocihet, srun, 2,
                "SLURM_CONTAINER=/a.sif\n"
                "SLURM_BERTH_JOB=1;0:image=/a.sif;1:image=/b.sif;.\n");
    look_script(other, srun, 3,
                "SRUN_CONTAINER=/b.sif\nSLURM_BERTH_JOB=1;*:image=/a.sif;.\n");
}

/* What the program has changed in the image, for other tasks in the image. */
TEST(a_new_step_has_what_was_set_in_the_image)
{
    const struct berth_request request = {.image = (char *)"/a.sif"};
    static const char *const task[] = {"PATH=/h", "A=1", "B=1", NULL};
    static const char *const container[] = {
        "PATH=/i:/proc/7/fd/7", "A=1", "B=2", "APP=/app", "PS1=$ ", NULL};
    static const char *const program[] = {"PATH=/o/bin:/i:/proc/7/fd/7:/z",
                                          "A=2",
                                          "B=3",
                                          "APP=/app",
                                          "PS1=> ",
                                          "LD_LIBRARY_PATH=/o/lib",
                                          "PMI_RANK=0",
                                          "NEW=1",
                                          "BASH_FUNC_x%%=() { :; }",
                                          NULL};
    static const char *const commands[][4] = {
        {"srun", "orted", NULL},
        {"srun", "--container-image=/b.sif", "x", NULL},
        {"srun", "--site-container-image", "/b.sif", NULL},
    };
    struct berth_err err;

    for (size_t i = 0; i < COUNT(commands); i++) {
        BERTH_STRVEC struct berth_strvec result = {0};
        const struct berth_hostenv outside = {.task = (char *const *)task,
                                              .container = (char *const *)container,
                                              .program = (char *const *)program,
                                              .request = &request,
                                              .command = (char *const *)commands[i]};

        ck_assert_int_eq(berth_hostenv_environment(&outside, &result, &err), 0);
        ck_assert_str_eq(result.items[result.count - 1],
                         i == 0 ? "SLURM_BERTH_JOB=1;*:image=/a.sif"
                                  "&env=PATH%3D/o/bin:/i:/z&env=B%3D3&env=PS1%3D%3E%20"
                                  "&env=LD_LIBRARY_PATH%3D/o/lib;."
                                : "SLURM_BERTH_JOB=1;*:image=/a.sif;.");
    }
}
