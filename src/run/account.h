/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
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

/* Append the account of the launch (plan/explain.h) to RET, in the form that the
 * request names. Runs the runtime for its version, so the process must be on the host.
 * Returns 0, or -1 with a sentence in ERR. */
int berth_account_write(const struct berth_account *account, struct berth_buf *ret,
                        struct berth_err *err);

/* Print the whole TEXT on standard output. Returns 0, or -1 with a sentence in ERR. */
int berth_account_print(const struct berth_buf *text, struct berth_err *err);
