/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"

/* The messages between the process in the container and berth-mpi, and between that and
 * the supervisor. */
enum berth_channel_kind {
    BERTH_CHANNEL_STAGE,  /* the process in the container asks for the stage of the
                             stack with this number */
    BERTH_CHANNEL_STAGED, /* the answer: the path of the stage on the host, newline, its
                             path in the container */
    BERTH_CHANNEL_RESULT, /* a part of the answer: bytes of report/binding.h */
    BERTH_CHANNEL_REFUSED, /* a sentence; nothing comes behind it */
    BERTH_CHANNEL_DONE,    /* the answer is complete */
};

/* Bytes of the longest text, with its NUL. */
enum { BERTH_CHANNEL_SIZE = 32768 };

struct berth_channel_message {
    enum berth_channel_kind kind;
    size_t count;                  /* bytes of the text */
    char text[BERTH_CHANNEL_SIZE]; /* a NUL follows it */
};

/* The two ends, closed on exec. */
int berth_channel_open(int ret_ends[2], struct berth_err *err);

int berth_channel_send(int end, enum berth_channel_kind kind, const char *text,
                       struct berth_err *err);

/* Sends BYTES as RESULT, in as many messages as it takes. */
int berth_channel_send_result(int end, const struct berth_buf *bytes,
                              struct berth_err *err);

/* Waits for a message until DEADLINE; NULL: for ever. Returns 0, or -1 with a sentence
 * in ERR; then the other side may be gone. */
int berth_channel_receive(int end, struct berth_deadline *deadline,
                          struct berth_channel_message *ret, struct berth_err *err);

/* Which process, in our numbers, sent the next byte at END, a socket with SO_PASSCRED.
 * Returns 0, or -1: there is none, or it does not say. */
int berth_channel_sender(int end, pid_t *ret_pid);
