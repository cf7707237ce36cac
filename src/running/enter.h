/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "running/container.h"

/* Run COMMAND (its first word NULL: a shell) in CONTAINER, of this node, as its task
 * runs: in its namespaces, directory and environment, but for TERM. Standard input,
 * output and error are the caller's. Returns the exit status of the command, as a shell
 * tells it; or a status of step/become.h with a sentence in ERR. */
int berth_enter(const struct berth_container *container, char **command,
                struct berth_err *err);
