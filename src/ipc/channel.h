/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"

/* The conversation between the process in the container and berth-mpi, and between that
 * and the supervisor, in messages of ipc/message.h without descriptors. */
enum berth_channel_kind {
    BERTH_CHANNEL_STAGE = 1, /* the process in the container asks for a stage; the text
                             is the number of the stack */
    BERTH_CHANNEL_STAGED, /* the answer: the path of the stage on the host, newline, its
                             path in the container */
    BERTH_CHANNEL_RESULT, /* a part of the binding, in bytes (plan/binding.h) */
    BERTH_CHANNEL_REFUSED, /* the step must not run; why (berth_channel_refuse()), and
                              the last message */
    BERTH_CHANNEL_DONE,    /* the binding is complete */
};

/* The byte that the supervisor sends to the witness when all tasks of the container
 * have ended. A socket that ends without it: the supervisor was killed, and nothing is
 * known of the tasks. */
enum berth_channel_end {
    BERTH_CHANNEL_SUCCEEDED = '0', /* no task has failed */
    BERTH_CHANNEL_FAILED = '1',
};

/* Bytes of the longest text, with its NUL. */
enum { BERTH_CHANNEL_SIZE = 32768 };

struct berth_channel_message {
    enum berth_channel_kind kind;
    size_t count;                  /* bytes of the text */
    char text[BERTH_CHANNEL_SIZE]; /* a NUL follows it */
};

/* Send TEXT, which is shorter than BERTH_CHANNEL_SIZE. Returns 0, or -1 with a sentence
 * in ERR. */
int berth_channel_send(int end, enum berth_channel_kind kind, const char *text,
                       struct berth_err *err);

/* Send that the step must not run, because of WHY: the digit of its code, and its
 * sentence. The other side may have ended. */
void berth_channel_refuse(int end, const struct berth_err *why);

/* The error that the other side has sent as MESSAGE, in ERR. Always returns -1. */
int berth_channel_refusal(const struct berth_channel_message *message,
                          struct berth_err *err);

/* Send BYTES in as many messages RESULT as needed. Returns 0, or -1 with a sentence in
 * ERR. */
int berth_channel_send_result(int end, const struct berth_buf *bytes,
                              struct berth_err *err);

/* Wait for a message until DEADLINE (NULL: no limit). Returns 0, or -1 with a sentence
 * in ERR: it is too late, or the other side has ended. */
int berth_channel_receive(int end, struct berth_deadline *deadline,
                          struct berth_channel_message *ret, struct berth_err *err);
