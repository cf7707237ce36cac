/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_STEP_MEMO_H
#define BERTH_STEP_MEMO_H

#include <stdbool.h>
#include <stddef.h>

#include "step/stageroot.h"

/* What a step found out about the host's MPI in a container, for later steps that are
 * told the same (bind/memokey.h): a file memo/HASH in the user's directory for stages,
 * which only the user may write. It is only a cache: a file that is damaged or not the
 * user's alone counts as missing, a file that cannot be written is not written, and no
 * function here reports an error.
 *
 * A memo is a list of records of two texts. */
enum berth_memo_kind {
    BERTH_MEMO_STAGE,   /* a stage: on the host, in the container */
    BERTH_MEMO_HOST,    /* a file of the host: path, identity */
    BERTH_MEMO_PROGRAM, /* what the command is in the container: path; "", or what its
                           words are where these count (bind/replay.c) */
    BERTH_MEMO_FILE,    /* a file in the container, before the mounts: path, identity */
    BERTH_MEMO_BIND,    /* a staged file, by its path on the host; what it goes over */
    BERTH_MEMO_OUT,  /* a file of the image; the staged one that it goes over, both in
                        the container */
    BERTH_MEMO_SET,  /* NAME=VALUE, "" */
    BERTH_MEMO_NOTE, /* for people, "" */
    BERTH_MEMO_NODE_NOTE, /* the same, of each node */
    BERTH_MEMO_WITNESS,   /* the host's MPI that each rank will load; what is
                             behind the newline of BERTH_CHANNEL_WITNESS */
    BERTH_MEMO_TARGET,    /* the loader; the file that it is asked about, in the end */
    BERTH_MEMO_FOUND,  /* what it said of the target before this record: a soname, its
                          path ("": missing) */
    BERTH_MEMO_DIGEST, /* of a file, and no more than that: "" if none, "" */
    BERTH_MEMO_KINDS
};

struct berth_memo_record {
    enum berth_memo_kind kind;
    char *first;
    char *second;
};

struct berth_memo {
    struct berth_memo_record *records;
    size_t count, room;
    bool failed; /* no memory, or a text that is too long: not to be kept */
};

/* The most memos that a user has; those that were not used for the longest time are
 * removed. */
enum { BERTH_MEMOS_MAX = 48 };

/* The identity of a file and of its contents: size, time and inode, and for host files
 * the device, which in a container differs for each mount. Follows links; "": no such
 * file. */
enum { BERTH_MEMO_IDENTITY_SIZE = 96 };
void berth_memo_identity(const char *path, bool with_device,
                         char identity[BERTH_MEMO_IDENTITY_SIZE]);

/* Append a record, of copies. */
void berth_memo_add(struct berth_memo *memo, enum berth_memo_kind kind,
                    const char *first, const char *second);

/* The memo of KEY below ROOT; the caller owns *RET_MEMO (berth_memo_fini). False: there
 * is none. */
bool berth_memo_load(const struct berth_stage_root *root, const char *key,
                     struct berth_memo *ret_memo);

/* Saves MEMO under KEY. Makes ROOT if it does not exist. */
void berth_memo_save(const struct berth_stage_root *root, const char *key,
                     const struct berth_memo *memo);

/* Removes the memo of KEY. */
void berth_memo_forget(const struct berth_stage_root *root, const char *key);

void berth_memo_fini(struct berth_memo *memo);

#endif
