/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "plan/launch.h"
#include "step/rendezvous.h"

/* The facts for the account of a component, which one task of it prints. Borrows
 * everything. */
struct berth_account {
    const struct berth_launch
        *launch; /* for a component on the host: node, order, request and command */
    char *const *environment; /* of the task, after the changes that are berth's */
    const struct berth_rendezvous
        *rendezvous; /* with the supervisor's findings; NULL: there is none */
    const char
        *apart; /* why each task has a container of its own; NULL: tasks share one */
};

/* The account of the launch (report/explain.h), as the request wants to see it,
 * appended to RET. Asks the runtime for its version. The process is on the host. */
int berth_account_write(const struct berth_account *account, struct berth_buf *ret,
                        struct berth_err *err);

/* Print TEXT on standard output, whole. */
int berth_account_print(const struct berth_buf *text, struct berth_err *err);
