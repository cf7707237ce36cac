/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"

enum berth_mount_mode {
    BERTH_MOUNT_RW,
    BERTH_MOUNT_RO,
    BERTH_MOUNT_SQSH, /* the files in a squashfs file, read-only */
    /* the others have no source on the node, and are as in enroot */
    BERTH_MOUNT_TMPFS,  /* an empty directory in memory */
    BERTH_MOUNT_UMOUNT, /* not a mount: nothing of the node is to be there */
};

/* One mount, as written `SRC[:DST[:ro|rw|sqsh]]`, `tmpfs:DST[:OPTION]` or `umount:DST`.
 */
struct berth_mount {
    char *source;      /* on the node; or the word `tmpfs` or `umount` */
    char *destination; /* in the image, clean (request/path.h), so that one place has
                          one spelling; without DST the same as the source */
    enum berth_mount_mode mode;
    char *flags; /* with `+` between them: options of a tmpfs (size=1G, mode=700, ...),
                    or the propagation of a mount (unbindable); NULL: none */
};

/* Parses one mount. A relative SRC is below BASE, or an error if BASE is NULL. DST must
 * be absolute. On success the caller owns *RET_MOUNT (berth_mount_fini). Without a
 * mode: rw. After it, or in place of it, may be flags of enroot, with `+` between them:
 * those of `flags` above, and those that ask for what is done anyway
 * (berth_mount_list_ignored()). Others (nofail, ...) are refused with what to write
 * here in place of them. */
int berth_mount_parse(const char *text, const char *base, struct berth_mount *ret_mount,
                      struct berth_err *err);

/* Does a mount of MODE show a file or directory of the node? */
bool berth_mount_has_source(enum berth_mount_mode mode);

/* Parses one mount and appends it to MOUNTS in full form: `SRC:DST:ro|rw|sqsh[+FLAG]`,
 * `tmpfs:DST[:OPTION]` or `umount:DST`. */
int berth_mount_append(const char *text, const char *base, struct berth_strvec *mounts,
                       struct berth_err *err);

/* The same for each mount in TEXT, a list separated by commas. */
int berth_mount_parse_list(const char *text, const char *base,
                           struct berth_strvec *mounts, struct berth_err *err);

/* Appends to RET the flags of enroot in the list TEXT that change nothing (rbind,
 * rprivate, x-create=dir, ...), each once, for a note. The caller checks the `failed`
 * of RET. */
void berth_mount_list_ignored(const char *text, struct berth_strvec *ret);

/* Do the mounts A and B, in full form, have one place? No if one cannot be parsed. Out
 * of memory sets *RET_FAILED, which else stays as it is. */
bool berth_mount_same_place(const char *a, const char *b, bool *ret_failed);

/* Appends TEXT, a mount in full form, to MOUNTS, and removes the mount that MOUNTS has
 * at its place: of two mounts on one place the later one counts. */
void berth_mount_add(const char *text, struct berth_strvec *mounts);

/* Refuses TEXT, a mount in full form, if MOUNTS, which the user gave together with it,
 * has another mount at its place. */
int berth_mount_check_place(const struct berth_strvec *mounts, const char *text,
                            struct berth_err *err);

/* Appends MOUNT to MOUNTS in full form; SOURCE replaces the source of MOUNT unless it
 * is NULL. The caller checks the `failed` of MOUNTS. */
void berth_mount_push(const struct berth_mount *mount, const char *source,
                      struct berth_strvec *mounts);

void berth_mount_fini(struct berth_mount *mount);

#define BERTH_MOUNT __attribute__((cleanup(berth_mount_fini)))
