/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_PLAN_COMPLETION_H
#define BERTH_PLAN_COMPLETION_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* A verb of the berth command, as a shell has to know it. */
struct berth_completion_verb {
    const char *name;
    const char *usage; /* its options are in it, as --NAME; OPTION: those of srun too */
    const char *help;
};

/* Append what SHELL reads to complete the words of the berth command: bash, zsh, fish;
 * or, with -srun behind, those of srun, sbatch and salloc, besides what completes them
 * already (fish has one for both). VERBS ends in {0}. The options are those of
 * plan/option.h. Returns 0, or -1 with a sentence in ERR. */
int berth_completion_write(const char *shell, const struct berth_completion_verb *verbs,
                           struct berth_buf *out, struct berth_err *err);

#endif
