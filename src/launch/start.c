/* SPDX-License-Identifier: Apache-2.0 */
/* Where a runtime starts, and what berth-init tells first of its container. */

#include "launch/start.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "step/log.h"
#include "step/channel.h"

int berth_start_enter(const char *directory)
{
    return chdir(directory && access(directory, R_OK) == 0 ? directory : "/");
}

static bool has_ended(pid_t child)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
           info.si_pid == child;
}

/* Until there is something to read. The runtime's end is looked for too: a program that
 * it has left behind may keep the other side open. */
static int await(const struct berth_start *start, struct berth_err *err)
{
    struct pollfd fds[] = {{.fd = start->answer, .events = POLLIN},
                           {.fd = start->tasks, .events = POLLIN}};

    while (poll(fds, 2, BERTH_DEADLINE_LOOK_MS) < 0 || !fds[0].revents) {
        if (fds[1].revents)
            return berth_err_set(err,
                                 "the step ended before its container had started");
        if (has_ended(start->runtime))
            return berth_log_explain(start->log, start->launch, err);
        if (berth_deadline_left(start->deadline) < 0)
            return berth_log_too_late(start->launch, start->seconds, err);
    }
    return 0;
}

static int receive(const struct berth_start *start, void *bytes, size_t count,
                   struct berth_err *err)
{
    for (size_t used = 0; used < count;) {
        ssize_t got;

        if (await(start, err) < 0)
            return -1;
        got = read(start->answer, (char *)bytes + used, count - used);
        if (got == 0 || (got < 0 && errno != EINTR))
            return berth_log_explain(start->log, start->launch, err);
        used += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

int berth_start_await(const struct berth_start *start, pid_t *ret_holder,
                      struct berth_buf *ret_environ, struct berth_err *err)
{
    enum { ENVIRON_MAX = 16 << 20 }; /* what is larger is not one */
    BERTH_FREE char *bytes = NULL;
    uint32_t count;

    if (await(start, err) < 0)
        return -1;
    if (berth_channel_sender(start->answer, ret_holder) < 0)
        return berth_log_explain(start->log, start->launch, err);
    if (receive(start, &count, sizeof(count), err) < 0)
        return -1;
    bytes = count <= ENVIRON_MAX ? malloc(count + 1) : NULL;
    if (!bytes)
        return berth_err_oom(err);
    if (receive(start, bytes, count, err) < 0)
        return -1;
    bytes[count] = '\0';
    ret_environ->text = berth_steal(&bytes);
    ret_environ->used = count;
    return 0;
}
