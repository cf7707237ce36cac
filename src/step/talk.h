/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_STEP_TALK_H
#define BERTH_STEP_TALK_H

#include <sys/types.h>

#include "base/deadline.h"
#include "base/err.h"

/* The messages between the process in the container and the one on the host; each has a
 * kind and a text. */
enum berth_talk_kind {
    BERTH_TALK_STAGE,  /* inside asks: stage the stack of this number */
    BERTH_TALK_STAGED, /* host answers: this stage, by its path on the host and, behind
                          a newline, its path in the container */
    BERTH_TALK_SET,    /* inside tells: NAME=VALUE for every task */
    BERTH_TALK_BIND,   /* inside tells: a path of the stage, and behind a newline the
                          file of the image that it is mounted over */
    BERTH_TALK_NOTE,   /* inside tells: whose MPI runs, and why */
    BERTH_TALK_NODE_NOTE, /* the same, where other nodes may decide otherwise */
    BERTH_TALK_WARNING,   /* inside tells: what may go wrong, for everybody to read */
    BERTH_TALK_WITNESS,   /* inside tells: the host's MPI that each rank will load, for
                             people; the marks (step/marks.h) are there. Behind a
                             newline, where one stage finds no other rank: the name of
                             that, blank, why */
    BERTH_TALK_FACT,      /* inside tells, for an account: a name of report/finding.h,
                             newline, text */
    BERTH_TALK_PROGRAM, /* inside tells, and the rest of it up to KEEP, for later steps
                           (step/memo.h): what the command is */
    BERTH_TALK_FILE,    /* a file that was read, newline, identity */
    BERTH_TALK_TARGET,  /* a loader, newline, what it was asked about in the end */
    BERTH_TALK_FOUND,   /* what it said: soname, newline, path */
    BERTH_TALK_OUT,     /* a file of the image, newline, the staged one that is left out
                           and that it is mounted over */
    BERTH_TALK_KEEP,    /* all that was told will hold as long as nothing changes */
    BERTH_TALK_AGAIN,   /* inside: something has changed, and nothing is mounted */
    BERTH_TALK_REFUSED, /* both: a sentence; nothing comes behind it */
    BERTH_TALK_DONE,    /* inside: nothing comes behind it */
};

/* Bytes of the longest text, with its NUL. */
enum { BERTH_TALK_SIZE = 32768 };

/* The two ends, closed on exec. Returns 0, or -1 with a sentence in ERR. */
int berth_talk_open(int ret_ends[2], struct berth_err *err);

int berth_talk_send(int end, enum berth_talk_kind kind, const char *text,
                    struct berth_err *err);

/* Wait for a message until DEADLINE; NULL: for ever. The text goes to TEXT. Returns
 * 0, or -1 with a sentence in ERR; then the other side may be gone. */
int berth_talk_receive(int end, struct berth_deadline *deadline,
                       enum berth_talk_kind *ret_kind, char text[BERTH_TALK_SIZE],
                       struct berth_err *err);

/* Which process, in our numbers, sent the next byte at END, a socket with SO_PASSCRED.
 * Returns 0, or -1: there is none, or it does not say. */
int berth_talk_sender(int end, pid_t *ret_pid);

#endif
