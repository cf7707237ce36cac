/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_TASK_ACCOUNT_H
#define BERTH_TASK_ACCOUNT_H

#include "base/err.h"
#include "plan/explain.h"
#include "plan/launch.h"
#include "task/room.h"

/* What the task that speaks for a component knows. Borrows everything. */
struct berth_account {
    const struct berth_launch *launch; /* of a component on the host: with node, request
                                          and command alone */
    char *const *environment;          /* of the task, as far as it is ours to change */
    const char *step;                  /* BERTH_TASK_EXPLAIN; NULL: not set */
    const struct berth_room *room;     /* what its keeper told; NULL: there is none */
    const char *apart; /* why each task has a container of its own; NULL: it has not */
};

/* The account of the launch (plan/explain.h), as the request wants to see it, appended
 * to RET. Asks the runtime for its version. The process is on the host. Returns 0, or
 * -1 with a sentence in ERR. */
int berth_account_write(const struct berth_account *account, struct berth_buf *ret,
                        struct berth_err *err);

/* Print TEXT on standard output, whole. */
int berth_account_print(const struct berth_buf *text, struct berth_err *err);

#endif
