/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "plan/launch.h"
#include "report/record.h"
#include "runtime/servers.h"

/* What serving its image takes while the tasks of a node are in a container. */
struct berth_serving {
    pid_t holder;  /* of the container that is served; 0: nobody asks */
    int64_t since; /* berth_clock() */
    struct berth_servers_usage before;
    long ended_ms;                     /* CPU time of those of BEFORE that have ended */
    struct berth_record_served served; /* when the tasks had ended */
};

/* The tasks of LAUNCH go on. Looks at processes only with srun -v, or where a record of
 * the component is kept by this node. */
void berth_serving_begin(struct berth_serving *serving,
                         const struct berth_launch *launch, pid_t holder);

/* A child of the caller has ended, and has used that. */
void berth_serving_reaped(struct berth_serving *serving, pid_t pid,
                          const struct rusage *usage);

/* The tasks have ended. So may have the container. */
void berth_serving_end(struct berth_serving *serving);

/* All that serves it has ended too, or goes on for the job. It is told on descriptor
 * TASK_STDERR with srun -v (-1: it is closed), and appended to the record. */
void berth_serving_report(struct berth_serving *serving,
                          const struct berth_launch *launch, int task_stderr);
