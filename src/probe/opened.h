/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_PROBE_OPENED_H
#define BERTH_PROBE_OPENED_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Which file it is, whatever it is called: its device and its number, as text. The
 * caller frees it; NULL when out of memory. */
char *berth_opened_identity(const struct stat *file);

/* Has process PID the file IDENTITY open? A runtime has its image open while the
 * container runs. */
bool berth_opened_has(pid_t pid, const char *identity);

/* What is said of an image when it is another file than the one that was looked at. */
#define BERTH_OPENED_EXCHANGED                                                         \
    "image '%s': it was exchanged while the step started; leave it where it is until " \
    "the step runs"

#endif
