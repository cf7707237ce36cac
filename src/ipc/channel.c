/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between the process in a container and its parent on the host, and between
 * that and the supervisor. */

#include "ipc/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ipc/message.h"

static int silent(struct berth_err *err, int number)
{
    return berth_err_set(err,
                         "the other process of berth does not answer (%s); see the "
                         "first error of the step, or submit again",
                         strerror(number));
}

static int send_bytes(int end, enum berth_channel_kind kind, const char *bytes,
                      size_t count, struct berth_err *err)
{
    const struct berth_message message = {.kind = kind, .bytes = bytes, .count = count};

    if (berth_message_send_waiting(end, &message) < 0)
        return silent(err, errno);
    return 0;
}

int berth_channel_send(int end, enum berth_channel_kind kind, const char *text,
                       struct berth_err *err)
{
    size_t count = strlen(text);

    if (count >= BERTH_CHANNEL_SIZE)
        return silent(err, ENAMETOOLONG);
    return send_bytes(end, kind, text, count, err);
}

void berth_channel_refuse(int end, const struct berth_err *why)
{
    char text[sizeof(why->text) + 1];

    /* one digit is enough for the codes of base/err.h */
    snprintf(text, sizeof(text), "%c%s", '0' + (int)why->code, why->text);
    berth_channel_send(end, BERTH_CHANNEL_REFUSED, text, NULL);
}

int berth_channel_refusal(const struct berth_channel_message *message,
                          struct berth_err *err)
{
    int code = message->text[0] - '0';
    bool is_code = code >= 0 && code < BERTH_ERR_CODES;

    if (message->kind != BERTH_CHANNEL_REFUSED || !is_code)
        return berth_err_damaged(err, "message %d", (int)message->kind);
    berth_err_set(err, "%s", message->text + 1);
    return berth_err_mark(err, (enum berth_err_code)code);
}

int berth_channel_send_result(int end, const struct berth_buf *bytes,
                              struct berth_err *err)
{
    enum { MOST = BERTH_CHANNEL_SIZE - 1 };

    if (bytes->failed)
        return berth_err_oom(err);
    for (size_t at = 0; at < bytes->used; at += MOST) {
        size_t count = bytes->used - at;

        if (count > MOST)
            count = MOST;
        if (send_bytes(end, BERTH_CHANNEL_RESULT, bytes->text + at, count, err) < 0)
            return -1;
    }
    return 0;
}

int berth_channel_receive(int end, struct berth_deadline *deadline,
                          struct berth_channel_message *ret, struct berth_err *err)
{
    struct berth_message_room room = {.bytes = ret->text,
                                      .size = BERTH_CHANNEL_SIZE - 1};
    struct pollfd readable = {.fd = end, .events = POLLIN};
    int kind;

    while (poll(&readable, 1, BERTH_DEADLINE_POLL_MS) <= 0)
        if (deadline && berth_deadline_left(deadline) < 0)
            return silent(err, ETIMEDOUT);
    kind = berth_message_receive(end, &room);
    if (kind == 0)
        return silent(err, ECONNRESET);
    if (kind < 0)
        return silent(err, errno);

    ret->kind = (enum berth_channel_kind)kind;
    ret->count = room.count;
    ret->text[ret->count] = '\0';
    return 0;
}
