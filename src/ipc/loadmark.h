/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The marks by which a process of a step records that it has loaded the host's MPI:
 * directories that it makes in a tmpfs, which berth-mpi mounts inside the container
 * (ipc/loadmarks.h). A mark costs one system call, a second mark of the same rank
 * changes nothing, and no limit on the size of files can end the application.
 *
 *     3-STAGE         the rank with SLURM_LOCALID 3 has loaded it, from that stage
 *     pid-1234-STAGE  process 1234 has, whose environment tells no rank
 *     task-3          a link to "1234 67": rank 67 of the step, SLURM_LOCALID 3, is
 * process 1234 and its descendants */
#define BERTH_MARK_DIRECTORY "/.berth/step"
#define BERTH_MARK_PID       "pid-"
#define BERTH_MARK_STAGE     "-"
#define BERTH_MARK_TASK      "task-"
#define BERTH_MARK_VARIABLE  "SLURM_LOCALID"

/* The library that makes the marks, in each stage. If you change it, raise the format
 * of the manifest (bindover/manifest.c). */
#define BERTH_MARK_LIBRARY "libberth-mark.so"
