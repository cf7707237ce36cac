/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_STEP_NAMES_H
#define BERTH_STEP_NAMES_H

/* The variables by which the plugin tells berth-task, in the environment of the task,
 * what to do. berth-task takes them out before the application starts. */

/* The component's row (request/wire.h). */
#define BERTH_TASK_REQUEST "BERTH_TASK_REQUEST"

/* The terms of the site (site/terms.h); absent: none. */
#define BERTH_TASK_TERMS "BERTH_TASK_TERMS"

/* Set on the first node of a component, which speaks for it. */
#define BERTH_TASK_LEADS "BERTH_TASK_LEADS"

/* With --multi-prog and --mpi-bind: the programs of all tasks of the step, each a line,
 * where these are several; absent: the command is that of all. */
#define BERTH_TASK_PROGRAMS "BERTH_TASK_PROGRAMS"

/* The site's runtime; absent: find one. */
#define BERTH_TASK_RUNTIME "BERTH_TASK_RUNTIME"

/* The site's option_prefix, for messages. */
#define BERTH_TASK_PREFIX "BERTH_TASK_PREFIX"

/* For --container-explain and records: what else is known of the step
 * (berth_explain_put_step()).
 */
#define BERTH_TASK_EXPLAIN "BERTH_TASK_EXPLAIN"

/* Where the record of the component goes (report/record.h); absent: none is kept. */
#define BERTH_TASK_RECORD "BERTH_TASK_RECORD"

/* In seconds, how long the digest of the image for that record may take; absent: the
 * record has none. */
#define BERTH_TASK_DIGEST "BERTH_TASK_DIGEST"

/* The descriptor of step/report.h. */
#define BERTH_TASK_REPORT "BERTH_TASK_REPORT"

/* The descriptors of step/rendezvous.h; absent: nothing is shared. */
#define BERTH_TASK_ROOM "BERTH_TASK_ROOM"

/* With --mpi-bind=%s that is an error: %s says why. */
#define BERTH_TASK_NO_ROOM                                                             \
    "--mpi-bind=%s: the tasks of this node cannot meet to decide whose MPI runs: %s; " \
    "submit the step again, or without --mpi-bind"

/* The user's argv[0], where berth-task stands in its place (Slurm before 23.11). */
#define BERTH_TASK_ARGV0 "BERTH_TASK_ARGV0"

/* The host's name in messages; Slurm sets it for every task. */
#define BERTH_TASK_NODE "SLURMD_NODENAME"

#endif
