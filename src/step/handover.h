/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"

/* What berth-start hands to berth-init in the container of one task: the words of
 * berth-init and the environment of the task. The runtime would pass both on as JSON,
 * which changes bytes that are not UTF-8, and all users of the host can read its
 * command line. So both are in memory (memfd), which has a descriptor and no name. */

/* Write WORDS and ENVIRONMENT (ended by NULL). Returns the descriptor, which stays open
 * through exec; -1 with a sentence in ERR. */
int berth_handover_write(const struct berth_strvec *words, char *const *environment,
                         struct berth_err *err);

/* The contents of a handover: the words, and the environment both as a list and as
 * bytes (NAME=VALUE strings, each ended by NUL). */
struct berth_handover {
    char *text; /* owns the bytes */
    struct berth_strvec words;
    struct berth_strvec environment;
    const char *bytes; /* of the environment */
    size_t count;
};

/* Read and close FD. Returns 0 with *RET, which the caller owns (berth_handover_fini);
 * -1 if berth_handover_write() has not made FD, which then stays open.
 */
int berth_handover_read(int fd, struct berth_handover *ret);

void berth_handover_fini(struct berth_handover *handover);
