/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_TASK_JOIN_H
#define BERTH_TASK_JOIN_H

#include <sys/types.h>

#include "base/err.h"

/* As what a process enters. */
enum berth_join_role {
    BERTH_JOIN_TASK, /* with no more rights than the container gives its programs */
    BERTH_JOIN_OWNER /* as who owns its namespaces: may mount, until it executes */
};

/* Put the calling process (one thread, no privilege) into the container of process
 * HOLDER: its namespaces, its root and, as a task, its capability bound and its
 * no_new_privs. The working directory is then the container's /. On failure the process
 * may be half inside and must end. Returns 0, or -1 with a sentence in ERR. */
int berth_join(pid_t holder, enum berth_join_role role, struct berth_err *err);

#endif
