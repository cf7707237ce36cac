/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_PROBE_OPENED_H
#define BERTH_PROBE_OPENED_H

#include <sys/stat.h>
#include <sys/types.h>

/* Which file it is, whatever it is called: its device and its number, as text. The
 * caller frees it; NULL when out of memory. */
char *berth_opened_identity(const struct stat *file);

enum berth_opened {
    BERTH_OPENED_NO,
    BERTH_OPENED_YES,
    BERTH_OPENED_HIDDEN, /* the process is of a setuid program */
};

/* Has the process PID the file IDENTITY open? */
enum berth_opened berth_opened_by(pid_t pid, const char *identity);

/* What is said of an image when it is another file than the one that was looked at. */
#define BERTH_OPENED_EXCHANGED                                                         \
    "image '%s': it was exchanged while the step started; leave it where it is until " \
    "the step runs"

#endif
