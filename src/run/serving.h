/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

#include "plan/launch.h"
#include "plan/record.h"
#include "step/servers.h"

/* The CPU time and memory of the programs that serve an image while tasks run in it. */
struct berth_serving {
    pid_t holder;  /* of the container; 0: nothing is measured */
    int64_t since; /* berth_clock() */
    struct berth_servers_usage before;
    long ended_ms; /* CPU time of the servers in BEFORE that have ended */
    struct berth_record_served served; /* when the tasks had ended */
    struct stat image;                 /* its file, when the container had started */
};

/* Call it before the tasks of LAUNCH go on. Measures only with srun -v, or if this node
 * keeps the record of the component; looks at the image's file always. */
void berth_serving_begin(struct berth_serving *serving,
                         const struct berth_launch *launch, pid_t holder);

/* A child PID of the caller has ended, with USAGE. */
void berth_serving_reaped(struct berth_serving *serving, pid_t pid,
                          const struct rusage *usage);

/* The tasks have ended; the container may have ended, too. */
void berth_serving_end(struct berth_serving *serving);

/* The tasks have ended: returns whether somebody has written into the file of the image
 * since berth_serving_begin(). A file that has replaced it disturbs nobody. */
bool berth_serving_is_changed(const struct berth_serving *serving,
                              const struct berth_launch *launch);

/* The servers have ended, too, or go on for the job: report what they used. With srun
 * -v it is printed on TASK_STDERR (-1: it is closed); it is appended to the record. */
void berth_serving_report(struct berth_serving *serving,
                          const struct berth_launch *launch, int task_stderr);
