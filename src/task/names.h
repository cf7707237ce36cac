/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_TASK_NAMES_H
#define BERTH_TASK_NAMES_H

/* The variables by which the plugin tells berth-task, in the environment of the task,
 * what to do. berth-task takes them out before the application starts. */

#define BERTH_TASK_REQUEST "BERTH_TASK_REQUEST" /* the component's row, plan/wire.h */
#define BERTH_TASK_RUNTIME                                                             \
    "BERTH_TASK_RUNTIME"                      /* the site's runtime; may be absent     \
                                               */
#define BERTH_TASK_PREFIX "BERTH_TASK_PREFIX" /* the site's option_prefix */
#define BERTH_TASK_REPORT "BERTH_TASK_REPORT" /* descriptor of task/report.h */
#define BERTH_TASK_ROOM                                                                \
    "BERTH_TASK_ROOM" /* descriptors of task/room.h; absent:                           \
                         nothing is shared */
#define BERTH_TASK_ARGV0                                                               \
    "BERTH_TASK_ARGV0" /* the user's argv[0], where berth-task                         \
                          stands in its place (Slurm < 23.11) */

/* The host's name in messages; Slurm sets it for every task. */
#define BERTH_TASK_NODE "SLURMD_NODENAME"

#endif
