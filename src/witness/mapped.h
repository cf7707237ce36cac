/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "mpi/family.h"

/* Which MPI the processes of a step have mapped (/proc/PID/maps), by the contents of
 * the files and not by their names. Staged files are known by their inodes. One library
 * of a stage tells that a process uses it: of an MPI the one that marks (step/mark.h),
 * which comes with the host's C library of MPI; of a fabric the first that it replaces.
 * Other staged files may be mapped for another reason. */

enum berth_mapped {
    BERTH_MAPPED_NONE,   /* no MPI */
    BERTH_MAPPED_STAGED, /* what was staged */
    BERTH_MAPPED_OTHER,  /* another one */
};

struct berth_mapped_file {
    dev_t device; /* as /proc/PID/maps tells it */
    ino_t inode;
    enum berth_mapped kind;
    const char *stage;              /* the name of the staged one; borrowed */
    char *path;                     /* of another MPI, as the process has it */
    char name[BERTH_MPI_NAME_SIZE]; /* of that MPI, for people */
};

struct berth_mapped_stage {
    dev_t device;
    ino_t inode;
    bool tells;       /* who has mapped it uses the stage */
    const char *name; /* of the stage; borrowed */
};

/* The files that were seen, so that each is read once. Starts as {0}. */
struct berth_mapped_files {
    struct berth_mapped_file *items;
    size_t count, room;
    struct berth_mapped_stage *staged;
    size_t staged_count, staged_room;
};

/* The files below PATH, on the host, are staged ones, of which LIBRARY tells. PATH
 * lives as long as FILES. */
void berth_mapped_add_stage(struct berth_mapped_files *files, const char *path,
                            const char *library);

/* What have PID and its descendants mapped? STAGED comes before OTHER; then *RET_FILE
 * is the file, valid until the next call. A process that cannot be read is NONE. */
enum berth_mapped berth_mapped_inspect(struct berth_mapped_files *files, pid_t pid,
                                       const struct berth_mapped_file **ret_file);

void berth_mapped_fini(struct berth_mapped_files *files);
