/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/strvec.h"
#include "plan/plan.h"

/* The variables by which PyTorch's processes find each other (torch.distributed,
 * env://), from those of Slurm: for a command whose environment has PYTORCH_VERSION, as
 * NVIDIA's images have it. enroot's hook 50-slurm-pytorch.sh sets the same ones. */

/* Append them to RET. ENVIRONMENT is the command's: Slurm's, the user's and the
 * image's; a variable that it has is left alone. LIST is environment.pytorch of the
 * site: NAME, a variable of berth_terms_pytorch, or NAME=VALUE; empty: all of
 * berth_terms_pytorch; BERTH_TERMS_NO_PYTORCH alone: none. Out of memory sticks in RET.
 */
void berth_pytorch_variables(char *const *environment, const struct berth_strvec *list,
                             struct berth_plan *ret);

/* Append the same to RET as NAME=VALUE. */
void berth_pytorch_env(char *const *environment, const struct berth_strvec *list,
                       struct berth_strvec *ret);

/* Is VARIABLE of ENVIRONMENT, NAME=VALUE, as berth_pytorch_env() gives it to a task
 * with that environment? Then it says which task this is, and a step that the task
 * starts must not inherit it. */
bool berth_pytorch_is_own(char *const *environment, const struct berth_strvec *list,
                          const char *variable);
