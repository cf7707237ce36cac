/* SPDX-License-Identifier: Apache-2.0 */
/* Which container a user means, how the output of squeue is read, what srun gets. */

#include <stdio.h>

#include "base/cleanup.h"
#include "cli/squeue.h"
#include "cli/container.h"
#include "unit.h"

/* Job 12: step 0 has one image on two nodes; step 1 has two on n1; step 2 is one of two
 * components; of step 3 n1 has a container for each task; step 4 has one image twice,
 * with other options. The job keeps one for later steps. */
static char lines[] =
    "a line of a TaskProlog\n"
    "berth-container:node=n2&job=12&step=0&rank=2&tasks=2&holder=7&image=/a.sif\n"
    "berth-container:node=n1&job=12&step=0&rank=0&tasks=2&holder=5&image=/a.sif\n"
    "berth-container:node=n1&job=12&step=1&rank=0&tasks=1&holder=8&image=/a.sif\n"
    "berth-container:node=n1&job=12&step=1&rank=1&tasks=1&holder=9&image=/b%20c.sif\n"
    "berth-container:node=n1&job=12&step=2&component=0&tasks=1&holder=10&image=/a.sif\n"
    "berth-container:node=n2&job=12&step=2&component=1&tasks=1&holder=11&image=/a.sif\n"
    "berth-container:node=n1&job=12&step=4&rank=0&tasks=1&holder=14&image=/a.sif\n"
    "berth-container:node=n1&job=12&step=4&rank=1&tasks=1&holder=15&options=--x&"
    "image=/a.sif\n"
    "berth-container:node=n1&job=12&step=3&rank=1&tasks=1&holder=13&image=/a.sif\n"
    "berth-container:node=n1&job=12&step=3&rank=0&tasks=1&holder=12&image=/a.sif\n"
    "berth-container:node=n1&job=12&holder=4&image=/a.sif\n";

/* Job 13 keeps three of one image: two on n1, for different mounts, and one on n2 with
 * the process id of another. */
static char kept[] = "berth-container:node=n1&job=13&holder=4&since=10&image=/a.sif\n"
                     "berth-container:node=n1&job=13&holder=5&since=20&options="
                     "--container-mounts%3D/d:/d:rw&image=/a.sif\n"
                     "berth-container:node=n2&job=13&holder=4&since=10&image=/a.sif\n";

/* Job 14 keeps the first two of these; a step runs in the third. */
static char busy[] =
    "berth-container:node=n1&job=14&holder=4&image=/a.sif\n"
    "berth-container:node=n1&job=14&holder=5&image=/b.sif\n"
    "berth-container:node=n1&job=14&step=0&rank=0&tasks=1&holder=6&image=/a.sif\n";

/* Job 15 keeps two that nothing shows to differ. */
static char alike[] = "berth-container:node=n1&job=15&holder=4&image=/a.sif\n"
                      "berth-container:node=n1&job=15&holder=5&image=/a.sif\n";

#define SEVERAL(step)                                                                  \
    "job 12: step " step " has several containers; choose one by -w, --container, "    \
    "--component or --rank"
#define SEVERAL_KEPT(job)                                                              \
    "job " job ": it has several containers; choose one by -w or --container"

static const struct {
    const char *containers;
    const char *text; /* JOBID[.STEPID] */
    const char *node;
    int component, asked; /* `asked`: a container by its holder */
    int holder;           /* of the container; 0: refused with the sentence */
    const char *sentence;
    size_t several; /* so many are listed then */
} selectors[] = {
    {lines, "12.3", NULL, -1, -1, 12, NULL, 0},
    {lines, "12.0", NULL, -1, -1, 5, NULL, 0},
    {lines, "12.0", "n2", -1, -1, 7, NULL, 0},
    {lines, "12.0", NULL, 0, -1, 5, NULL, 0},
    {lines, "12", "n2", -1, -1, 11, NULL, 0},
    {lines, "12.2+1", NULL, -1, -1, 11, NULL, 0},
    {lines, "12.2", NULL, 0, -1, 10, NULL, 0},
    {lines, "12.2", NULL, -1, -1, 0, SEVERAL("2"), 2},
    {lines, "12.1", NULL, -1, -1, 0, SEVERAL("1"), 2},
    {lines, "12", NULL, -1, -1, 0, SEVERAL("4"), 2},
    {lines, "12", NULL, -1, 15, 15, NULL, 0},
    {lines, "12", NULL, -1, 4, 4, NULL, 0},
    {lines, "12.1", "n2", -1, -1, 0,
     "job 12: no such container on 'n2'; expected -w n1", 0},
    {lines, "12", "n9", -1, -1, 0,
     "job 12: no such container on 'n9'; expected -w n1, n2", 0},
    {lines, "12.9", NULL, -1, -1, 0,
     "job 12: step 9 does not run in an image; see berth ps 12", 0},
    {lines, "12.0", NULL, 4, -1, 0, "job 12: no such container; see berth ps 12", 0},
    {lines, "12", NULL, -1, 99, 0, "job 12: no such container; see berth ps 12", 0},
    {kept, "13", NULL, -1, -1, 0, SEVERAL_KEPT("13"), 3},
    {kept, "13", "n1", -1, -1, 0, SEVERAL_KEPT("13"), 2},
    {kept, "13", NULL, -1, 5, 5, NULL, 0},
    {kept, "13", NULL, -1, 4, 0, SEVERAL_KEPT("13"), 2},
    {kept, "13", "n2", -1, 4, 4, NULL, 0},
    {busy, "14", NULL, -1, -1, 6, NULL, 0},
    {busy, "14", NULL, -1, 5, 5, NULL, 0},
    {alike, "15", NULL, -1, -1, 0, SEVERAL_KEPT("15"), 2},
};

TEST_ROWS(a_selector_means_one_container, selectors)
{
    BERTH_FREE char *text = strdup(selectors[_i].containers);
    BERTH_FREE char *name = strdup(selectors[_i].text);
    BERTH_CONTAINERS struct berth_containers containers = {0};
    struct berth_containers several = {0};
    struct berth_selector selector = {.step = -1,
                                      .node = selectors[_i].node,
                                      .component = selectors[_i].component,
                                      .rank = -1,
                                      .holder = selectors[_i].asked};
    const struct berth_container *chosen;
    struct berth_err err;

    ck_assert_int_eq(berth_containers_get(text, -1, &containers, &err), 0);
    berth_containers_sort(&containers);
    ck_assert_int_eq(berth_selector_read(name, &selector, &err), 0);
    chosen = berth_containers_choose(&containers, &selector, &several, &err);
    ck_assert_int_eq(chosen ? chosen->holder : 0, selectors[_i].holder);
    if (!chosen) {
        ck_assert_str_eq(err.text, selectors[_i].sentence);
        ck_assert_uint_eq(several.count, selectors[_i].several);
    }
    free(several.items);
}

TEST(what_is_saved_is_of_one_node)
{
    BERTH_FREE char *text = strdup(lines);
    BERTH_CONTAINERS struct berth_containers containers = {0};
    struct berth_containers several = {0};
    struct berth_selector selector = {.job = "12",
                                      .step = 0,
                                      .component = -1,
                                      .rank = -1,
                                      .holder = -1,
                                      .is_to_save = true};
    const struct berth_container *chosen;
    struct berth_err err;

    ck_assert_int_eq(berth_containers_get(text, -1, &containers, &err), 0);
    berth_containers_sort(&containers);
    chosen = berth_containers_choose(&containers, &selector, &several, &err);
    ck_assert_ptr_null(chosen);
    ck_assert_str_eq(err.text, SEVERAL("0"));
    ck_assert_uint_eq(several.count, 2);
    free(several.items);
    several = (struct berth_containers){0};
    selector.node = "n2";
    chosen = berth_containers_choose(&containers, &selector, &several, &err);
    ck_assert_int_eq(chosen->holder, 7);
    free(several.items);
}

TEST(without_containers_nothing_is_chosen)
{
    const struct berth_containers none = {0};
    struct berth_containers several = {0};
    struct berth_selector selector = {
        .job = "12", .step = -1, .component = -1, .rank = -1, .holder = -1};
    struct berth_err err;

    ck_assert_ptr_null(berth_containers_choose(&none, &selector, &several, &err));
    ck_assert_str_eq(err.text, "job 12: no step of it runs in an image");
    selector.rank = 7;
    ck_assert_ptr_null(berth_containers_choose(&none, &selector, &several, &err));
    ck_assert_str_eq(err.text, "job 12: no task of rank 7 runs in an image; choose by "
                               "--container, see berth ps 12");
    ck_assert_uint_eq(several.count, 0);
}

TEST(a_selector_is_a_job_and_a_step)
{
    static const char *const wrong[] = {"",      "x",     "-1",       "12.",  "12.x",
                                        "12.1x", "12.1+", "12.batch", "12 3", "12.1.2"};
    struct berth_selector selector = {.step = -1, .component = -1, .holder = -1};
    struct berth_err err;

    for (int i = 0; i < COUNT(wrong); i++) {
        BERTH_FREE char *text = strdup(wrong[i]);

        ck_assert_int_eq(berth_selector_read(text, &selector, &err), -1);
        ck_assert_ptr_nonnull(
            strstr(err.text, "expected JOBID or JOBID.STEPID, got '"));
    }
}

TEST(a_container_is_a_line)
{
    char image[400], options[400];
    struct berth_container item = {.node = strdup("n1"),
                                   .job = 12,
                                   .step = 0,
                                   .component = -1,
                                   .rank = 0,
                                   .tasks = 3,
                                   .since = 60,
                                   .memory = 5120,
                                   .cpu = 30,
                                   .holder = 99};
    BERTH_CONTAINERS struct berth_containers containers = {0};
    BERTH_BUF struct berth_buf line = {0};
    struct berth_err err;

    memset(image, ' ', sizeof(image) - 1);
    image[sizeof(image) - 1] = '\0';
    memset(options, 'o', sizeof(options) - 1);
    options[sizeof(options) - 1] = '\0';
    item.image = strdup(image);
    item.options = strdup(options);
    berth_container_put(&item, &line);
    ck_assert_uint_lt(line.used, 1024);
    ck_assert_int_eq(berth_containers_get(line.text, 1, &containers, &err), 0);
    ck_assert_uint_eq(containers.count, 1);
    ck_assert_int_eq(strncmp(containers.items[0].image, "... ", 4), 0);
    ck_assert_int_eq(containers.items[0].offset, 1);
    ck_assert_int_eq(containers.items[0].cpu, 30);
    ck_assert_int_eq(containers.items[0].component, -1);
    ck_assert_int_eq(strncmp(containers.items[0].options, "ooo", 3), 0);
    berth_container_fini(&item);
}

TEST(another_release_on_a_node_is_named)
{
    char unknown[] = "berth-container:node=n1&colour=red\n";
    char incomplete[] = "berth-container:node=n1\n";
    BERTH_CONTAINERS struct berth_containers containers = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_containers_get(unknown, -1, &containers, &err), -1);
    ck_assert_str_eq(err.text, DAMAGED("colour"));
    ck_assert_int_eq(berth_containers_get(incomplete, -1, &containers, &err), -1);
    ck_assert_str_eq(err.text, DAMAGED("berth-container:"));
}

/* As squeue prints them: a plain job, one that waits, a het job, a task of an array. */
static char jobs_text[] = "12 12 1000 2 RUNNING\n"
                          "13 13 1000 1 PENDING\n"
                          "20 20+0 1000 1 RUNNING\n"
                          "21 20+1 1000 3 RUNNING\n"
                          "31 30_2 1000 1 RUNNING\n"
                          "40 40 1001 1 RUNNING\n";

static const struct {
    const char *name;
    const char *squeue; /* its output: a part of jobs_text */
    int count;          /* -1: refused with the sentence */
    unsigned int id;    /* of the last */
    int offset;
    const char *sentence;
} jobs[] = {
    {"12", "12 12 1000 2 RUNNING\n", 1, 12, -1, NULL},
    {"20", "20 20+0 1000 1 RUNNING\n21 20+1 1000 3 RUNNING\n", 2, 20, 1, NULL},
    {"20+1", "20 20+0 1000 1 RUNNING\n21 20+1 1000 3 RUNNING\n", 1, 20, 1, NULL},
    {"30_2", "31 30_2 1000 1 RUNNING\n", 1, 31, -1, NULL},
    {"13", "13 13 1000 1 PENDING\n", -1, 0, 0,
     "job 13: expected a job that is RUNNING, got 'PENDING'"},
    {"40", "40 40 1001 1 RUNNING\n", -1, 0, 0,
     "job 40: not yours, or Slurm does not know it; see berth ps"},
    {"50", "", -1, 0, 0, "job 50: not yours, or Slurm does not know it; see berth ps"},
};

TEST_ROWS(a_name_means_jobs_that_run, jobs)
{
    BERTH_JOBS struct berth_jobs found = {0};
    BERTH_FREE char *text = strdup(jobs[_i].squeue);
    struct berth_err err;

    ck_assert_int_eq(berth_jobs_get(text, &found, &err), 0);
    if (jobs[_i].count < 0) {
        ck_assert_int_eq(berth_jobs_select(&found, jobs[_i].name, 1000, &err), -1);
        ck_assert_str_eq(err.text, jobs[_i].sentence);
        return;
    }
    ck_assert_int_eq(berth_jobs_select(&found, jobs[_i].name, 1000, &err), 0);
    ck_assert_uint_eq(found.count, (size_t)jobs[_i].count);
    ck_assert_uint_eq(found.items[found.count - 1].id, jobs[_i].id);
    ck_assert_int_eq(found.items[found.count - 1].offset, jobs[_i].offset);
}

TEST(output_that_is_not_a_job_is_refused)
{
    BERTH_JOBS struct berth_jobs found = {0};
    char word[] = "a word\n";
    struct berth_err err;

    ck_assert_int_eq(berth_jobs_get(jobs_text, &found, &err), 0);
    ck_assert_uint_eq(found.count, 6);
    ck_assert_int_eq(berth_jobs_get(word, &found, &err), -1);
    ck_assert_str_eq(err.text, "expected a job from squeue, got 'a word'");
}

TEST(srun_gets_no_option_of_the_user)
{
    static const char *const own[] = {"PATH=/bin",
                                      "SLURM_CONF=/etc/s",
                                      "SLURM_NTASKS=8",
                                      "SLURM_BERTH_JOB=1;x",
                                      "BERTH_CONTAINER_IMAGE=/a.sif",
                                      "SRUN_CONTAINER=x",
                                      "SQUEUE_STATES=PD",
                                      "TERM=xterm",
                                      NULL};
    BERTH_STRVEC struct berth_strvec env = {0};
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_FREE char *text = NULL;

    berth_job_environment((char *const *)own, &env);
    text = unit_lines(&env);
    ck_assert_str_eq(text, "PATH=/bin\nSLURM_CONF=/etc/s\nTERM=xterm\n"
                           "BERTH_CONTAINER_IMAGE=none\n");
    berth_job_srun("/bin/srun", 20, 1, "n2", 1, &words);
    ck_assert(berth_strvec_has(&words, "--overlap"));
    ck_assert(berth_strvec_has(&words, "--jobid=20"));
    ck_assert(berth_strvec_has(&words, "--het-group=1"));
    ck_assert(berth_strvec_has(&words, "--nodelist=n2"));
    berth_strvec_fini(&words);
    berth_job_srun("/bin/srun", 12, -1, NULL, 4, &words);
    ck_assert(berth_strvec_has(&words, "--nodes=4"));
    ck_assert(berth_strvec_has(&words, "--ntasks=4"));
    ck_assert(!berth_strvec_has_start(&words, "--het-group"));
    ck_assert(!berth_strvec_has_start(&words, "--nodelist"));
}

TEST(a_job_without_processes_has_no_container)
{
    const struct berth_find wanted = {
        .user = getuid(), .job = 4000000000U, .number = 4000000000U, .rank = -1};
    BERTH_CONTAINERS struct berth_containers found = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_find_containers(&wanted, &found, &err), 0);
    ck_assert_uint_eq(found.count, 0);
}
