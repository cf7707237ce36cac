/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_PROBE_OPENED_H
#define BERTH_PROBE_OPENED_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

/* Which file it is, whatever it is called: its device and its number, as text. The
 * caller frees it; NULL when out of memory. */
char *berth_opened_identity(const struct stat *file);

/* Has RUNTIME, a process, the file IDENTITY (NULL: nobody asks) open, which IMAGE led
 * to when it was looked at? A runtime has its image open while the container runs; of a
 * setuid one that cannot be seen, and is believed. Returns 0, or -1 with a sentence in
 * ERR. */
int berth_opened_check(pid_t runtime, const char *identity, const char *image,
                       struct berth_err *err);

/* What is said of an image when it is another file than the one that was looked at. */
#define BERTH_OPENED_EXCHANGED                                                         \
    "image '%s': it was exchanged while the step started; leave it where it is until " \
    "the step runs"

#endif
