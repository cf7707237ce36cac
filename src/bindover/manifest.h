/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"

/* The most bytes of the file. */
enum { BERTH_MANIFEST_MAX = 16 << 20 };

/* The contents of a stage (bindover/stage.h), as its file `manifest` lists them, in the
 * form of base/fields.h: a part `stage`, a part `file` for each file, a part `source`
 * for each file that was copied and each directory that was listed.
 *
 * A file under glibc/ is one of the host's glibc, unchanged; lib/ has libraries under
 * the names by which they are needed; mpi/ has links to those of MPI, under all names
 * that programs use. */
struct berth_staged_file {
    char *file; /* from the top of the stage */
    uint64_t size;
    char *soname; /* "-": none */
};

struct berth_staged_source {
    char *path;
    uint64_t device;
    uint64_t inode;
    uint64_t size;
    uint64_t time; /* in nanoseconds */
};

struct berth_manifest {
    char *profile; /* mpi/profile.h */
    char *version; /* for people */
    char *from;    /* the C library on the host */
    char *mounted; /* where the stage is in the container */
    struct berth_staged_file *files;
    size_t file_count, file_room;
    struct berth_strvec links; /* FILE, TARGET, FILE, TARGET, ... */
    struct berth_strvec set;   /* NAME=VALUE, once the stage is verified */
    struct berth_staged_source *sources;
    size_t source_count, source_room;
    struct berth_strvec absent; /* paths without a file: the stage is out of date when
                                   there is one */
};

/* Adds a record with copies of the texts. Returns 0, or -1 out of memory. */
int berth_manifest_add_file(struct berth_manifest *manifest,
                            const struct berth_staged_file *file,
                            struct berth_err *err);
int berth_manifest_add_source(struct berth_manifest *manifest,
                              const struct berth_staged_source *source,
                              struct berth_err *err);

/* Appends the text of the file to BUF. Returns 0, or -1 out of memory. */
int berth_manifest_write(const struct berth_manifest *manifest, struct berth_buf *buf,
                         struct berth_err *err);

/* Reads a manifest from TEXT. Returns 0 with *RET_MANIFEST, which the caller owns
 * (berth_manifest_fini); -1 with a sentence in ERR. */
int berth_manifest_read(const char *text, struct berth_manifest *ret_manifest,
                        struct berth_err *err);

void berth_manifest_fini(struct berth_manifest *manifest);
