/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mpi/family.h"

/* Finds the MPI that the processes of a step use: by the contents of the files that
 * they have mapped (container/maps.h) and not by their names; of a file that is gone
 * (deleted, memfd_create) by the constants in the memory of the process. Staged files
 * are known by their inodes. One library of each stage shows that a process uses the
 * stage: for an MPI the one that makes the mark (ipc/loadmark.h), which the C library
 * of MPI needs; for a fabric the first library of its profile, for libraries each of
 * them. Other staged files may be mapped for other reasons. */

/* What a mapped file shows. */
enum berth_mapped {
    BERTH_MAPPED_NONE,   /* nothing about MPI */
    BERTH_MAPPED_STAGED, /* the process uses what was staged */
    BERTH_MAPPED_OTHER,  /* it has another MPI */
    BERTH_MAPPED_COPY,   /* it has a copy of the host's MPI, by the build ID */
    BERTH_MAPPED_BESIDE, /* libraries of the host that were staged beside its MPI */
};

struct berth_mapped_file {
    dev_t device; /* as in /proc/PID/maps */
    ino_t inode;
    uint64_t start; /* of the mapping, if the file cannot be read; else 0 */
    enum berth_mapped kind;
    bool is_staged;                 /* it is in a stage, whatever its kind */
    bool has_state;                 /* memory of it shows whether MPI_Init was called
                                       (bindover/initialized.h) */
    const char *stage;              /* the name of the stage, if STAGED; borrowed */
    char *path;                     /* in the process's root, if OTHER or COPY */
    char name[BERTH_MPI_NAME_SIZE]; /* of the MPI, for people, if OTHER or COPY */
};

struct berth_mapped_stage {
    dev_t device;
    ino_t inode;
    enum berth_mapped kind; /* of the stage, if a process that has mapped the file uses
                               it; else NONE */
    bool has_state;         /* as in struct berth_mapped_file */
    const char *name;       /* of the stage; borrowed */
    unsigned char build_id[32];
    size_t build_id_length; /* 0: it has none */
};

/* The files that were inspected, each once. Starts as {0}. */
struct berth_mapped_files {
    struct berth_mapped_file *items;
    size_t count, room;
    struct berth_mapped_stage *staged;
    size_t staged_count, staged_room;
};

/* Which MPI answers the calls of a process that does not have the host's alone, the
 * most certain last. A process that has loaded another MPI and has not called MPI_Init
 * of it, such as a tool that prints its version, is NONE. */
enum berth_answer_of_other {
    BERTH_OTHER_NONE,   /* no other MPI */
    BERTH_OTHER_COPY,   /* a copy of the host's, which uses the image's libraries */
    BERTH_OTHER_EITHER, /* the process has both, and either may answer */
    BERTH_OTHER_LOADED, /* it has none of the host's; its MPI_Init cannot be seen */
    BERTH_OTHER_BESIDE, /* it has both, and has initialized only the other one */
    BERTH_OTHER_ALONE,  /* it has none of the host's, and has initialized the other */
};

/* What the processes of a rank have mapped. */
struct berth_mapped_seen {
    const struct berth_mapped_file *staged; /* a process uses it; NULL: none does */
    enum berth_answer_of_other answer;      /* of the process with the greatest one */
    const struct berth_mapped_file *other;  /* of that process; NULL with NONE */
    bool is_initialized; /* a process has initialized the host's MPI */
    bool is_idle;    /* a process has loaded another MPI, and has not initialized it */
    bool has_beside; /* files of BERTH_MAPPED_BESIDE */
};

/* Adds the files below PATH, a stage on the host of KIND, STAGED or BESIDE: a process
 * that has mapped the one named LIBRARY uses the stage, which may be added for several.
 * PATH must live as long as FILES. Out of memory, files are left out. */
void berth_mapped_add_stage(struct berth_mapped_files *files, const char *path,
                            const char *library, enum berth_mapped kind);

/* Sets *RET_SEEN, valid until the next call, to what PID and its descendants have
 * mapped. A process that cannot be read has mapped nothing. */
void berth_mapped_inspect(struct berth_mapped_files *files, pid_t pid,
                          struct berth_mapped_seen *ret_seen);

void berth_mapped_fini(struct berth_mapped_files *files);
