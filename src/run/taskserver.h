/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "run/taskclient.h"

/* The server at which the tasks of a step meet that run `berth run`.
 *
 * The tasks that come together are a round. It has a rendezvous (ipc/rendezvous.h)
 * with a place for each key: tasks with the same key share a container. They get its
 * descriptors when each rank of the step on this node has come, or none has come for a
 * while: so each is told how many they are. A later task gets the place of its key, if
 * the container may be joined, or begins a round. The task server watches the tasks,
 * also after exec, and ends the containers of a round with its last task, and itself
 * with the last round. Nothing is left then, not even a name. */

/* The conversation (ipc/message.h). A task sends ASK with a struct
 * berth_taskserver_question and its standard error, if that is open. The server answers
 * PLACE with a struct berth_taskserver_answer and the descriptors of enum
 * berth_taskserver_fd, and closes the socket. */
enum { BERTH_TASKSERVER_ASK = 'A', BERTH_TASKSERVER_PLACE = 'P' };

/* The descriptors of PLACE, in their order: that of ipc/report.h, and, if there is a
 * rendezvous, those of ipc/rendezvous.h. */
enum berth_taskserver_fd {
    BERTH_TASKSERVER_REPORT,
    BERTH_TASKSERVER_MEMORY,
    BERTH_TASKSERVER_TASKS,
    BERTH_TASKSERVER_ENDED,
    BERTH_TASKSERVER_FDS
};

struct berth_taskserver_question {
    uint64_t key;
    unsigned int rank;
};

struct berth_taskserver_answer {
    unsigned int number, tasks, others, hosts; /* as in struct berth_order_container */
    struct berth_err why; /* there is no rendezvous; "": there is one */
};

/* Start the server, a process that is nobody's child, for the tasks that come after
 * FIRST, who starts it. Of a step, FD is a socket that has the server's name; else it
 * is the server's end of a pair, of which FIRST has the other. Returns 0, or -1 with a
 * sentence in ERR. */
int berth_taskserver_start(const struct berth_taskclient *first, int fd,
                           struct berth_err *err);
