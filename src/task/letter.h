/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_TASK_LETTER_H
#define BERTH_TASK_LETTER_H

#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"

/* What berth-task tells berth-init in a container of one task alone: berth-init's
 * words, and the environment of the task. The runtime would carry both as JSON, in
 * which each byte that is not UTF-8 becomes another; and what stands on its command
 * line is seen by all users of the host. So both are in memory that has a descriptor
 * and no name. */

/* Returns the descriptor, which stays open through exec; -1 with a sentence in ERR. */
int berth_letter_write(const struct berth_strvec *words, char *const *environment,
                       struct berth_err *err);

/* As it was written: the words; and NAME=VALUE strings one behind the other, each ended
 * by NUL, and the list of them. Never freed: it is read once, by a program that becomes
 * another. */
struct berth_letter {
    struct berth_strvec words;
    struct berth_strvec environment;
    const char *bytes; /* of the environment */
    size_t count;
};

/* Read and close FD. Returns 0, or -1 when FD is no letter. */
int berth_letter_read(int fd, struct berth_letter *ret);

#endif
