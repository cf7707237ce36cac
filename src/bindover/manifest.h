/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"

/* The most bytes of the file. */
enum { BERTH_MANIFEST_MAX = 16 << 20 };

/* The contents of a stage (bindover/stage.h), as its file `manifest` lists them, in the
 * form of base/fields.h.
 *
 * A file under glibc/ is one of the host's glibc, unchanged; lib/ has libraries under
 * the names by which they are needed; mpi/ has links to those of MPI, under all names
 * that programs use. */
struct berth_manifest {
    char *profile;               /* mpi/profile.h */
    char *version;               /* for people */
    char *from;                  /* the C library on the host */
    char *mounted;               /* where the stage is in the container */
    struct berth_strvec files;   /* FILE from the top of the stage, its SONAME ("":
                                    none), its size, ... */
    struct berth_strvec links;   /* FILE, TARGET, FILE, TARGET, ... */
    struct berth_strvec set;     /* NAME=VALUE, once the stage is verified */
    struct berth_strvec sources; /* a path on the host, its identity, ...: those of
                                    FILES in the same order, then all that was searched.
                                    A stage is out of date when one has changed */
};

/* Strings of one file in `files`. */
enum { BERTH_MANIFEST_FILE = 3 };

/* Appends PATH and the identity of ST (NULL: there is no file) to SOURCES. */
void berth_manifest_add_source(struct berth_strvec *sources, const char *path,
                               const struct stat *st);

/* Is ST (NULL: there is no file) what IDENTITY says? */
bool berth_manifest_is_same(const struct stat *st, const char *identity);

/* Appends the text of the file to BUF. Out of memory, also in MANIFEST, sticks in BUF.
 */
void berth_manifest_write(const struct berth_manifest *manifest, struct berth_buf *buf);

/* Reads a manifest from TEXT. Returns 0 with *RET_MANIFEST, which the caller owns
 * (berth_manifest_fini); -1 with a sentence in ERR. */
int berth_manifest_read(const char *text, struct berth_manifest *ret_manifest,
                        struct berth_err *err);

void berth_manifest_fini(struct berth_manifest *manifest);
