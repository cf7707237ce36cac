/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "plan/record.h"
#include "run/task.h"
#include "container/servers.h"

/* The line that ranks of a node do not read each other's memory. */
#define BERTH_NOTICE_NO_CMA                                                            \
    "note: image '%s': MPI copies each message within this node twice, which is "      \
    "slower (CMA is off): %s"

/* The line about an image that the runtime has unpacked. */
#define BERTH_NOTICE_UNPACKED                                                          \
    "warning: " BERTH_SERVERS_UNPACKED                                                 \
    "which takes time at each start, and room in /tmp" BERTH_SERVERS_REPAIR

/* Print on standard error what berth has chosen for the component of TASK, and with
 * srun -v the number of containers on this node; where that is the file of the task's
 * standard output, too, print warnings only. WHY: why each task has a container of
 * its own; NULL: tasks share one. */
void berth_notice_print(const struct berth_task *task,
                        const struct berth_rendezvous *rendezvous, const char *why);

/* Was the srun of this environment started with -v? */
bool berth_notice_is_verbose(char *const *environment);

/* Append the record of the component. WHY as above. If that fails, srun -v prints why.
 */
void berth_notice_record(const struct berth_task *task, const char *why);

/* Open the file of RECORD (berth_record_path()) as the calling user, whom this sets in
 * RECORD. It is made if need be, readable by all and writable by the user. Returns a
 * descriptor, or -1 with a sentence in ERR. */
int berth_record_open(struct berth_record *record, struct berth_err *err);

/* Append RECORD to that file, which is open as FD. Returns 0, or -1 with a sentence in
 * ERR. */
int berth_record_put(const struct berth_record *record, int fd, struct berth_err *err);
