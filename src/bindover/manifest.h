/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"

/* The first line. Stages of other releases of the format are not used. */
#define BERTH_MANIFEST_RELEASE "5"
#define BERTH_MANIFEST_FORMAT  "berth-stage\t" BERTH_MANIFEST_RELEASE

/* The most bytes of the file. */
enum { BERTH_MANIFEST_MAX = 16 << 20 };

/* The contents of a stage (bindover/stage.h), as its file `manifest` lists them: one
 * record a line, a word and its fields, with a tab between.
 *
 *     berth-stage 5                        the first line: the format
 *     profile PROFILE VERSION              mpi/profile.h; VERSION for people
 *     from PATH                            the C library on the host
 *     mounted PATH                         where the stage is in the container
 *     file FILE SONAME SIZE                FILE from the top of the stage, bytes;
 *                                          SONAME is - where there is none
 *     link FILE TARGET                     a symbolic link
 *     set NAME VALUE                       a variable, to set once the stage is
 * verified source PATH DEVICE INODE SIZE TIME   what was copied, or a directory that
 * was listed; TIME in nanoseconds absent PATH                          a path that did
 * not exist: the stage is out of date when it does end the last line
 *
 * A file under glibc/ is one of the host's glibc, unchanged; lib/ has libraries under
 * the names by which they are needed; mpi/ has links to those of MPI, under all names
 * that programs use. */
struct berth_staged_file {
    char *file;
    uint64_t size;
    char *soname; /* "-": none */
};

struct berth_staged_source {
    char *path;
    uint64_t device;
    uint64_t inode;
    uint64_t size;
    uint64_t time;
};

struct berth_manifest {
    char *profile;
    char *version;
    char *from;
    char *mounted;
    struct berth_staged_file *files;
    size_t file_count, file_room;
    struct berth_strvec links; /* FILE, TARGET, FILE, TARGET, ... */
    struct berth_strvec set;   /* NAME=VALUE */
    struct berth_staged_source *sources;
    size_t source_count, source_room;
    struct berth_strvec absent;
};

/* Adds a record with copies of the texts. Returns 0, or -1 with a sentence in ERR: out
 * of memory, or a text has a tab or a newline. */
int berth_manifest_add_file(struct berth_manifest *manifest,
                            const struct berth_staged_file *file,
                            struct berth_err *err);
int berth_manifest_add_source(struct berth_manifest *manifest,
                              const struct berth_staged_source *source,
                              struct berth_err *err);

/* Appends the text of the file to BUF. Returns 0, or -1 out of memory. */
int berth_manifest_write(const struct berth_manifest *manifest, struct berth_buf *buf,
                         struct berth_err *err);

/* Reads a manifest from TEXT, which this changes. Returns 0 with *RET_MANIFEST, which
 * the caller owns (berth_manifest_fini); -1 with a sentence in ERR, which has the
 * line's number. */
int berth_manifest_read(char *text, struct berth_manifest *ret_manifest,
                        struct berth_err *err);

void berth_manifest_fini(struct berth_manifest *manifest);
