/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "plan/explain.h"
#include "plan/launch.h"
#include "step/rendezvous.h"

/* The facts for the account of a component, which one task of the component prints.
 * Borrows everything. */
struct berth_account {
    const struct berth_launch *launch; /* for a component on the host only node, order,
                                          request and command are set */
    char *const *environment;          /* of the task, with the changes of berth */
    const struct berth_rendezvous *rendezvous; /* has the binding; NULL: none */
    const char
        *apart; /* why each task has a container of its own; NULL: tasks share one */
};

/* Collect what is known of the launch on the host. Runs the runtime for its version, so
 * the process must be on the host. On success the caller owns *RET, which borrows what
 * ACCOUNT borrows. Returns 0, or -1 with a sentence in ERR. */
int berth_account_collect(const struct berth_account *account,
                          struct berth_explain *ret, struct berth_err *err);

/* Add what only a process that has joined the container sees: where its directories are
 * from, and where the command is. */
void berth_account_look(struct berth_explain *explain);

/* Print EXPLAIN on standard output. Returns 0, or -1 with a sentence in ERR. */
int berth_account_print(const struct berth_explain *explain, struct berth_err *err);
