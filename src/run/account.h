/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "plan/explain.h"
#include "step/rendezvous.h"
#include "run/task.h"

/* Collect, in `account` of TASK, what is known of it on the host, for the account of
 * its component. RENDEZVOUS has the binding; NULL: there is none. APART: why each task
 * has a container of its own; NULL: tasks share one. Runs the runtime for its version,
 * so the process must be on the host. Returns 0, or -1 with a sentence in ERR. */
int berth_account_collect(struct berth_task *task,
                          const struct berth_rendezvous *rendezvous, const char *apart,
                          struct berth_err *err);

/* Add what only a process that has joined the container sees: where its directories are
 * from, and where the command is. */
void berth_account_look(struct berth_explain *explain);

/* Print EXPLAIN on standard output. Returns 0, or -1 with a sentence in ERR. */
int berth_account_print(const struct berth_explain *explain, struct berth_err *err);
