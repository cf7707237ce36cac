/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"

/* What berth-start hands to berth-init in the container of one task: berth-init's
 * arguments and the task's environment. The runtime would carry both as JSON, which
 * changes bytes that are not UTF-8, and all users of the host can read its command
 * line. So both are in memory (memfd) that has a descriptor and no name. */

/* Returns the descriptor, which stays open through exec; -1 with a sentence in ERR. */
int berth_handover_write(const struct berth_strvec *words, char *const *environment,
                         struct berth_err *err);

/* The contents, as they were written: the words; and the environment as a list and as
 * bytes (NAME=VALUE strings, each ended by NUL). A program that executes another one
 * next need not free it. */
struct berth_handover {
    char *text; /* all of it */
    struct berth_strvec words;
    struct berth_strvec environment;
    const char *bytes; /* of the environment */
    size_t count;
};

/* Reads and closes FD. Returns 0, or -1 when FD was not made by berth_handover_write().
 */
int berth_handover_read(int fd, struct berth_handover *ret);

void berth_handover_fini(struct berth_handover *handover);
