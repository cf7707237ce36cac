/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* Start a temporary container of IMAGE with RUNTIME (both are paths) and READER (struct
 * berth_launch), in a user namespace and in at most SECONDS, for an inspection of the
 * image as the tasks of a step see it. Returns 0 in a child, which is in the container
 * and has its environment; no other program of the image runs. The caller does not
 * return then: it waits for the child, ends the container, and exits with the status of
 * the child. Returns -1 with a sentence in ERR if there is no container, or, in the
 * child, if it cannot enter. */
int berth_temporary_enter(const char *runtime, const char *image, const char *reader,
                          unsigned int seconds, struct berth_err *err);
