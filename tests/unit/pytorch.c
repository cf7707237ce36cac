/* SPDX-License-Identifier: Apache-2.0 */
/* What a command in a PyTorch image gets. */

#include "plan/pytorch.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "site/siteread.h"
#include "site/terms.h"
#include "unit.h"

#define LINES(...)                                                                     \
    {                                                                                  \
        __VA_ARGS__, NULL                                                              \
    }
#define TORCH "PYTORCH_VERSION=2.2"
#define STEP                                                                           \
    TORCH, "SLURM_STEP_NODELIST=n[2-4]", "SLURM_JOB_ID=4537", "SLURM_NTASKS=6",        \
        "SLURM_PROCID=5", "SLURM_LOCALID=1", "SLURM_STEP_NUM_TASKS=6",                 \
        "SLURM_STEP_NUM_NODES=3"

static const struct {
    const char *environment[16];
    const char *site; /* environment.pytorch; NULL: it is not in berth.yaml */
    const char *text;
} given[] = {
    /* as the hook gives them */
    {LINES(STEP), NULL,
     "MASTER_ADDR=n2\nMASTER_PORT=61001\nWORLD_SIZE=6\nRANK=5\nLOCAL_RANK=1\n"
     "OMP_NUM_THREADS=1\n"},
    {LINES("SLURM_PROCID=5", "SLURM_NTASKS=6"), NULL, ""},
    {LINES(TORCH, "PATH=/bin"), NULL, ""},
    {LINES("MASTER_ADDR=x", "WORLD_SIZE=", "OMP_NUM_THREADS=4", STEP), NULL,
     "MASTER_PORT=61001\nRANK=5\nLOCAL_RANK=1\n"},
    /* a task on each node, and one task */
    {LINES(TORCH, "SLURM_STEP_NUM_TASKS=3", "SLURM_STEP_NUM_NODES=3"), NULL, ""},
    {LINES(TORCH, "SLURM_STEP_NUM_TASKS=1"), NULL, ""},
    {LINES(TORCH, "SLURM_STEP_NUM_TASKS=2"), NULL, "OMP_NUM_THREADS=1\n"},
    {LINES(TORCH, "SLURM_JOB_ID=4535"), NULL, "MASTER_PORT=65535\n"},
    {LINES(TORCH, "SLURM_JOB_ID=4536"), NULL, "MASTER_PORT=61000\n"},
    {LINES(TORCH, "SLURM_JOB_ID=7x"), NULL, ""},
    /* as the site wants it */
    {LINES(STEP), "none", ""},
    {LINES(STEP), "[]", ""},
    {LINES(STEP), "[RANK, MASTER_PORT=29500, NCCL_DEBUG=]",
     "RANK=5\nMASTER_PORT=29500\nNCCL_DEBUG=\n"},
    {LINES("MASTER_PORT=1", STEP), "[MASTER_PORT=29500]", ""},
};

TEST_ROWS(a_pytorch_image_gets_its_variables, given)
{
    BERTH_SITE struct berth_site site = berth_site_default();
    BERTH_TERMS struct berth_terms terms = {0};
    BERTH_STRVEC struct berth_strvec faults = {0};
    BERTH_STRVEC struct berth_strvec env = {0};
    BERTH_BUF struct berth_buf yaml = {0};
    BERTH_FREE char *lines = NULL;
    struct berth_err err;

    if (given[_i].site) {
        berth_buf_addf(&yaml, "environment: {pytorch: %s}\n", given[_i].site);
        ck_assert_int_eq(
            berth_site_parse("f", yaml.text, yaml.used, &site, &faults, &err), 0);
        ck_assert_uint_eq(faults.count, 0);
    }
    ck_assert_int_eq(berth_terms_of(&site, &terms, &err), 0);
    berth_pytorch_env((char *const *)given[_i].environment, &terms.pytorch, &env);
    lines = unit_lines(&env);
    ck_assert_str_eq(lines, given[_i].text);
}

static const struct {
    const char *environment[16]; /* the last one is asked about */
    const char *site;            /* an item of environment.pytorch; NULL: all */
    bool is_own;
} owned[] = {
    {LINES(STEP, "RANK=5"), NULL, true},
    {LINES(STEP, "RANK=4"), NULL, false},
    {LINES(STEP, "MASTER_ADDR=n2"), NULL, true},
    {LINES(STEP, "SLURM_NNODES=3"), NULL, false},
    {LINES("SLURM_PROCID=5", "RANK=5"), NULL, false}, /* another image */
    {LINES(STEP, "RANK=5"), "MASTER_PORT", false},
    {LINES(STEP, "NCCL_DEBUG=INFO"), "NCCL_DEBUG=INFO", true},
};

TEST_ROWS(a_task_has_variables_of_its_own, owned)
{
    BERTH_STRVEC struct berth_strvec list = {0};
    char *const *environment = (char *const *)owned[_i].environment;
    size_t last = 0;

    while (environment[last + 1])
        last++;
    if (owned[_i].site)
        berth_strvec_push(&list, owned[_i].site);
    ck_assert_int_eq(berth_pytorch_is_own(environment, &list, environment[last]),
                     owned[_i].is_own);
}

static const struct {
    const char *list;
    const char *first;
} lists[] = {
    {"n1", "n1"},
    {"n1,n2", "n1"},
    {"n[1-4]", "n1"},
    {"n[007-012,3],m1", "n007"},
    {"n[3,5-7]", "n3"},
    {"rack[1-2]n[3-4]-ib,x", "rack1n3-ib"},
    {"node-a.example", "node-a.example"},
    {"n[1", "n1"}, /* not of Slurm, but no reason to read beyond it */
};

TEST_ROWS(the_first_host_of_a_list, lists)
{
    const struct berth_strvec all = {0};
    BERTH_STRVEC struct berth_strvec env = {0};
    BERTH_FREE char *variable = NULL;
    BERTH_FREE char *expected = NULL;
    BERTH_FREE char *lines = NULL;
    char *environment[] = {(char *)TORCH, NULL, NULL};

    ck_assert(asprintf(&variable, "SLURM_STEP_NODELIST=%s", lists[_i].list) > 0);
    ck_assert(asprintf(&expected, "MASTER_ADDR=%s\n", lists[_i].first) > 0);
    environment[1] = variable;
    berth_pytorch_env(environment, &all, &env);
    lines = unit_lines(&env);
    ck_assert_str_eq(lines, expected);
}
