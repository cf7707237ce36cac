/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "request/request.h"
#include "base/strvec.h"

enum berth_image_kind {
    BERTH_IMAGE_SIF,      /* a SIF file (github.com/apptainer/sif) */
    BERTH_IMAGE_SANDBOX,  /* a directory that holds a root file system */
    BERTH_IMAGE_SQUASHFS, /* a squashfs file that holds one, as enroot makes it */
};

/* Bytes of a UUID as text. */
enum { BERTH_IMAGE_ID = 37 };

struct berth_image {
    enum berth_image_kind kind;
    const char *machine;     /* as `uname -m` prints it; NULL: not known */
    char id[BERTH_IMAGE_ID]; /* the UUID of a SIF file; "" for others */
    bool is_missing;         /* there is nothing at the path */
};

/* Check, as the calling user, that there is an image at PATH. Reads of a SIF file only
 * the header and the list of its parts, of a squashfs file only the superblock. Returns
 * 0; or -1 with a sentence in ERR (may be NULL) if the file is missing, unreadable, cut
 * short, or not an image. */
int berth_image_probe(const char *path, struct berth_image *ret_image,
                      struct berth_err *err);

/* The machine AT, from 0, of those that a SIF file can be for; NULL: there are fewer.
 */
const char *berth_image_machines(size_t at);

/* The code of this machine in SIF files; NULL: it has none. */
const char *berth_image_code(void);

/* Check that this machine can run the IMAGE at PATH. Call it on the node of a task: a
 * login node may be of another kind. Returns 0, or -1 with a sentence in ERR. */
int berth_image_check_machine(const char *path, const struct berth_image *image,
                              struct berth_err *err);

/* Append to RET names and values of what identifies the image at PATH: kind, machine,
 * bytes, modified, and of a SIF file its id. Leaves out what is not known. Returns 0,
 * or -1 when out of memory. */
int berth_image_describe(const char *path, struct berth_strvec *ret,
                         struct berth_err *err);

/* Append to RET the part NAME of the SIF file PATH, of at most MOST bytes. Returns 0;
 * -1 if there is no such part, or it cannot be read. */
int berth_image_read_part(const char *path, const char *name, size_t most,
                          struct berth_buf *ret);

/* That script, in the tree of berth (base/installed.h). */
#define BERTH_IMAGE_READER BERTH_DATADIR "/squashfs-environment"

/* The script that the runtime has to read for the variables of IMAGE: a squashfs file
 * has them in a file that no runtime knows (struct berth_launch, `reader`). *RET is
 * NULL for other images. Returns 0, or -1 with a sentence in ERR if this host lacks the
 * script. */
int berth_image_find_reader(const struct berth_image *image, const char **ret,
                            struct berth_err *err);

/* Check, on the node of a task, the image of REQUEST, which is a file (a URI has been
 * pulled), and its machine. Returns 0, or -1 with a sentence in ERR. */
int berth_image_check(const struct berth_request *request,
                      struct berth_image *ret_image, struct berth_err *err);

/* Check that nothing is at PATH, the value of --container-save: srun asks before it
 * starts the step, and the node before it starts the container. Returns 0, or -1 with a
 * sentence in ERR. */
int berth_image_check_unsaved(const char *path, struct berth_err *err);

/* Is PATH an OCI bundle: a directory with a config.json (OCI runtime specification,
 * bundle.md)? Not if there is nothing at PATH. */
bool berth_image_is_bundle(const char *path);
