/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_STEP_CHANNEL_H
#define BERTH_STEP_CHANNEL_H

#include <sys/types.h>

#include "base/deadline.h"
#include "base/err.h"

/* The messages between the process in the container and the one on the host; each has a
 * kind and a text. */
enum berth_channel_kind {
    BERTH_CHANNEL_STAGE,  /* inside asks: stage the stack of this number */
    BERTH_CHANNEL_STAGED, /* host answers: this stage, by its path on the host and,
                          behind a newline, its path in the container */
    BERTH_CHANNEL_SET,    /* inside tells: NAME=VALUE for every task */
    BERTH_CHANNEL_BIND,   /* inside tells: a path of the stage, and behind a newline the
                          file of the image that it is mounted over */
    BERTH_CHANNEL_NOTE,   /* inside tells: whose MPI runs, and why */
    BERTH_CHANNEL_NODE_NOTE, /* the same, where other nodes may decide otherwise */
    BERTH_CHANNEL_WARNING, /* inside tells: what may go wrong, for everybody to read */
    BERTH_CHANNEL_WITNESS, /* inside tells: the host's MPI that each rank will load, for
                           people; the marks (step/marks.h) are there. Behind a
                           newline, where one stage finds no other rank: the name of
                           that, blank, why */
    BERTH_CHANNEL_FACT,    /* inside tells, for an account: a name of report/finding.h,
                           newline, text */
    BERTH_CHANNEL_PROGRAM, /* inside tells, and the rest of it up to KEEP, for later
                           steps (step/memo.h): what the command is */
    BERTH_CHANNEL_FILE,    /* a file that was read, newline, identity */
    BERTH_CHANNEL_TARGET,  /* a loader, newline, what it was asked about in the end */
    BERTH_CHANNEL_FOUND,   /* what it said: soname, newline, path */
    BERTH_CHANNEL_OUT,  /* a file of the image, newline, the staged one that is left out
                        and that it is mounted over */
    BERTH_CHANNEL_KEEP, /* all that was told will hold as long as nothing changes */
    BERTH_CHANNEL_AGAIN,   /* inside: something has changed, and nothing is mounted */
    BERTH_CHANNEL_REFUSED, /* both: a sentence; nothing comes behind it */
    BERTH_CHANNEL_DONE,    /* inside: nothing comes behind it */
};

/* Bytes of the longest text, with its NUL. */
enum { BERTH_CHANNEL_SIZE = 32768 };

/* The two ends, closed on exec. Returns 0, or -1 with a sentence in ERR. */
int berth_channel_open(int ret_ends[2], struct berth_err *err);

int berth_channel_send(int end, enum berth_channel_kind kind, const char *text,
                       struct berth_err *err);

/* Wait for a message until DEADLINE; NULL: for ever. The text goes to TEXT. Returns
 * 0, or -1 with a sentence in ERR; then the other side may be gone. */
int berth_channel_receive(int end, struct berth_deadline *deadline,
                          enum berth_channel_kind *ret_kind,
                          char text[BERTH_CHANNEL_SIZE], struct berth_err *err);

/* Which process, in our numbers, sent the next byte at END, a socket with SO_PASSCRED.
 * Returns 0, or -1: there is none, or it does not say. */
int berth_channel_sender(int end, pid_t *ret_pid);

#endif
