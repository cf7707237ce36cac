/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* Put the calling process (one thread, no privilege) into the container of process
 * HOLDER: its namespaces and its root. The working directory is then the container's /.
 * The program that it becomes, or starts, has no more rights than the container gives
 * its programs (capability bound, no_new_privs), and one that it starts is in the
 * process namespace, too. On failure the process may be half inside and must end. */
int berth_join(pid_t holder, struct berth_err *err);

/* The same, as the owner of the container's mounts, who may mount there until it
 * executes. Where containers have an outer user namespace in common (step/outer.h), the
 * process is root there, and its programs are. */
int berth_join_owner(pid_t holder, struct berth_err *err);
