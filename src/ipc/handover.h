/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"

/* Words and an environment that a process hands to another one, byte for byte. All
 * users of the host can read a command line, so both are in memory (memfd), which has a
 * descriptor and no name. */

/* Write WORDS and ENVIRONMENT (ended by NULL). Returns the descriptor, which stays open
 * through exec; -1 with a sentence in ERR. */
int berth_handover_write(const struct berth_strvec *words, char *const *environment,
                         struct berth_err *err);

/* The contents of a handover. */
struct berth_handover {
    struct berth_strvec words;
    struct berth_strvec environment;
};

/* Read and close FD. Returns 0 with *RET, which the caller owns (berth_handover_fini);
 * -1 if berth_handover_write() has not made FD, which then stays open.
 */
int berth_handover_read(int fd, struct berth_handover *ret);

void berth_handover_fini(struct berth_handover *handover);
