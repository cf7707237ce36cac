/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPU driver a container gets. */

#include "plan/gpu.h"

#include "unit.h"

#define GIVEN(...)                                                                     \
    {                                                                                  \
        __VA_ARGS__, NULL                                                              \
    }
#define STEP "SLURM_JOB_ID=7", "SLURM_STEP_ID=0"

static const struct {
    const char *own[6];
    bool given;
} environments[] = {
    {GIVEN("PATH=/bin"), true},
    {GIVEN("SLURM_JOB_ID=7"), false},
    {GIVEN("SLURM_JOB_ID=7", "SLURM_JOB_GPUS=0"), true},
    {GIVEN(STEP), false},
    {GIVEN(STEP, "SLURM_JOB_GPUS=0"), false},
    {GIVEN(STEP, "SLURM_STEP_GPUS=0,1"), true},
    {GIVEN(STEP, "SLURM_STEP_GPUS="), false},
    {GIVEN(STEP, "CUDA_VISIBLE_DEVICES=0"), true},
    {GIVEN(STEP, "CUDA_VISIBLE_DEVICES=NoDevFiles"), false},
    {GIVEN(STEP, "ROCR_VISIBLE_DEVICES=1"), true},
    {GIVEN(STEP, "GPU_DEVICE_ORDINAL=1"), true},
    {GIVEN(STEP, "SLURM_GPUS_ON_NODE=1"), false},
};

TEST_ROWS(a_step_has_gpus_if_slurm_says_so, environments)
{
    ck_assert_int_eq(berth_gpu_is_given((char *const *)environments[_i].own),
                     environments[_i].given);
}

#define NVIDIA                                                                         \
    {                                                                                  \
        .nvidia = true                                                                 \
    }
#define ROCM                                                                           \
    {                                                                                  \
        .rocm = true                                                                   \
    }
#define BOTH                                                                           \
    {                                                                                  \
        .nvidia = true, .rocm = true                                                   \
    }

static const struct {
    const char *asked;
    const char *own[4];
    struct berth_gpu_host host;
    const char *flag; /* NULL: none */
    const char *text; /* the reason, or why it is refused */
} choices[] = {
    {NULL, GIVEN("A="), NVIDIA, "--nv", "there are GPUs for it, and /dev/nvidiactl"},
    {NULL, GIVEN("A="), ROCM, "--rocm", "there are GPUs for it, and /dev/kfd"},
    {NULL, GIVEN("A="), BOTH, "--nv", "there are GPUs for it, and /dev/nvidiactl"},
    {NULL, GIVEN(STEP), BOTH, NULL, "the step has no GPUs on this node"},
    {NULL,
     GIVEN("A="),
     {false},
     NULL,
     "neither /dev/nvidiactl nor /dev/kfd is on this host"},
    {"auto", GIVEN(STEP, "SLURM_STEP_GPUS=3"), NVIDIA, "--nv",
     "there are GPUs for it, and /dev/nvidiactl"},
    {"auto",
     GIVEN(STEP, "SLURM_STEP_GPUS=3"),
     {false},
     NULL,
     "neither /dev/nvidiactl nor /dev/kfd is on this host"},
    {"off", GIVEN("A="), BOTH, NULL, "it was asked for"},
    {"nvidia", GIVEN(STEP), BOTH, "--nv", "it was asked for"},
    {"rocm", GIVEN(STEP), BOTH, "--rocm", "it was asked for"},
};

TEST_ROWS(the_flag_follows_the_request_the_step_and_the_host, choices)
{
    struct berth_request request = {.gpu = (char *)choices[_i].asked};
    struct berth_gpu_choice choice;
    struct berth_err err;

    ck_assert_int_eq(berth_gpu_choose(&request, (char *const *)choices[_i].own,
                                      &choices[_i].host, &choice, &err),
                     0);
    ck_assert_pstr_eq(choice.flag, choices[_i].flag);
    ck_assert_str_eq(choice.because, choices[_i].text);
}

static const struct {
    const char *asked;
    struct berth_gpu_host host;
    const char *error;
} refusals[] = {
    {"nvidia", ROCM,
     "--container-gpu=nvidia: this host has no NVIDIA driver (there is no "
     "/dev/nvidiactl); ask for a node that has one, or leave the option out"},
    {"rocm", NVIDIA,
     "--container-gpu=rocm: this host has no ROCm driver (there is no /dev/kfd); ask "
     "for a node that has one, or leave the option out"},
};

TEST_ROWS(a_driver_that_is_not_there_is_refused, refusals)
{
    struct berth_request request = {.gpu = (char *)refusals[_i].asked};
    struct berth_gpu_choice choice;
    struct berth_err err;

    ck_assert_int_eq(
        berth_gpu_choose(&request, NULL, &refusals[_i].host, &choice, &err), -1);
    ck_assert_str_eq(err.text, refusals[_i].error);
}
