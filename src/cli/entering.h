/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "cli/container.h"

/* Run COMMAND, words ended by NULL (no words: a shell), in CONTAINER, which is on this
 * node, as its task runs: in the task's namespaces, directory and environment except
 * TERM, with the caller's standard input, output and error. Returns the exit status of
 * the command as in a shell, with "" in ERR; or a status of step/become.h with a
 * sentence. */
int berth_enter(const struct berth_container *container, char **command,
                struct berth_err *err);
