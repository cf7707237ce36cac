/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "step/rendezvous.h"
#include "task/task.h"

/* A container of one task alone, where tasks cannot join one: the task becomes the
 * runtime, which starts berth-init, which becomes the command. RENDEZVOUS may be NULL.
 */

/* Returns only on failure: -1 with a sentence in ERR. */
int berth_own_become(struct berth_task *task, const struct berth_rendezvous *rendezvous,
                     struct berth_err *err);

/* The same in a process of its own, which does not start the command but sees whether
 * it could. Returns the exit status of that process, which has said why; -1 with a
 * sentence in ERR where there is no process. */
int berth_own_try(struct berth_task *task, const struct berth_rendezvous *rendezvous,
                  struct berth_err *err);
