/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "mpi/family.h"

/* Finds the MPI that the processes of a step have mapped (/proc/PID/maps), by the
 * contents of the files and not by their names; of a file that is gone (deleted,
 * memfd_create) by the constants in the memory of the process. Staged files are known
 * by their inodes. One library of each stage shows that a process uses the stage: for
 * an MPI the one that makes the mark (ipc/loadmark.h), which the C library of MPI
 * needs; for a fabric the first library of its profile, for libraries each of them.
 * Other staged files may be mapped for other reasons. */

enum berth_mapped {
    BERTH_MAPPED_NONE,   /* no MPI */
    BERTH_MAPPED_STAGED, /* what was staged */
    BERTH_MAPPED_OTHER,  /* another one */
    BERTH_MAPPED_BOTH,   /* what was staged, and in the same process another one */
    BERTH_MAPPED_BESIDE, /* libraries of the host that were staged beside its MPI */
};

struct berth_mapped_file {
    dev_t device; /* as in /proc/PID/maps */
    ino_t inode;
    unsigned long start; /* of the mapping, if the file cannot be read; else 0 */
    enum berth_mapped kind;
    const char *stage;              /* the name of the stage, if STAGED; borrowed */
    char *path;                     /* in the process's root, if OTHER */
    char name[BERTH_MPI_NAME_SIZE]; /* of the MPI, for people, if OTHER */
};

struct berth_mapped_stage {
    dev_t device;
    ino_t inode;
    enum berth_mapped kind; /* of the stage, if a process that has mapped the file uses
                               it; else NONE */
    const char *name;       /* of the stage; borrowed */
};

/* The files that were inspected, each once. Starts as {0}. */
struct berth_mapped_files {
    struct berth_mapped_file *items;
    size_t count, room;
    struct berth_mapped_stage *staged;
    size_t staged_count, staged_room;
    bool has_beside; /* the last inspection found files of BESIDE */
};

/* Adds the files below PATH, a stage on the host of KIND, STAGED or BESIDE: a process
 * that has mapped the one named LIBRARY uses the stage, which may be added for several.
 * PATH must live as long as FILES. Out of memory, files are left out. */
void berth_mapped_add_stage(struct berth_mapped_files *files, const char *path,
                            const char *library, enum berth_mapped kind);

/* Returns what PID and its descendants have mapped, and in *RET_FILE the file,
 * valid until the next call: the other one with BOTH, NULL with NONE. A process that
 * cannot be read has mapped NONE. */
enum berth_mapped berth_mapped_inspect(struct berth_mapped_files *files, pid_t pid,
                                       const struct berth_mapped_file **ret_file);

void berth_mapped_fini(struct berth_mapped_files *files);
