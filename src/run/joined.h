/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "step/rendezvous.h"
#include "run/task.h"

/* Join the container of the rendezvous, which is READY, and become the command; for an
 * account, only check whether that would succeed. Returns only on failure, or for an
 * account: the exit status (-1: BERTH_REFUSED). If the status is not 0, ERR has the
 * sentence. */
int berth_joined_become(const struct berth_task *task,
                        const struct berth_rendezvous *rendezvous,
                        struct berth_err *err);
