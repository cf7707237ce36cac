/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "step/rendezvous.h"
#include "run/task.h"

/* A container of one task, where tasks cannot join one: the task becomes the runtime,
 * the runtime starts berth-init, and berth-init becomes the command. RENDEZVOUS may be
 * NULL.
 */

/* Become the runtime. Returns only on failure: -1 with a sentence in ERR. */
int berth_own_become(struct berth_task *task, const struct berth_rendezvous *rendezvous,
                     struct berth_err *err);

/* Check in a child whether the command could be started. Returns the exit status of the
 * child, which has printed the reason; -1 with a sentence in ERR if there is no child.
 */
int berth_own_try(struct berth_task *task, const struct berth_rendezvous *rendezvous,
                  struct berth_err *err);
