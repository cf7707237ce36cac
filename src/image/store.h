/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "request/request.h"
#include "request/uri.h"
#include "site/site.h"

/* A collection of images from registries: the user's cache, or the store of the site
 * (images.store), which one user fills and all users read.
 * DIRECTORY/NAME@sha256-DIGEST-MACHINE.sif is an image, which stays what it is: a job
 * on another host that has it open would lose it (NFS). DIRECTORY/index/URI-MACHINE,
 * with a name of berth_uri_name(), is a symbolic link to the image that a URI is at
 * present; rename(2) replaces it, so that readers take no lock. */

/* Find the image of URI for MACHINE, as `uname -m` prints it (NULL: for any), if it is
 * whole. Returns 0 with its path in *RET_FILE, which the caller frees; NULL: there is
 * none. Returns -1 with a sentence in ERR. Who can write to DIRECTORY is not checked.
 */
int berth_store_look(const char *directory, const char *uri, const char *machine,
                     char **ret_file, struct berth_err *err);

/* The same in the store of SITE, which may have none. An error if others than root and
 * images.store_owner could have written the store. */
int berth_store_find(const struct berth_site *site, const char *uri,
                     const char *machine, char **ret_file, struct berth_err *err);

/* Check that SITE has a store, a directory that only root and its owner can write.
 * Returns 0, or -1 with a sentence in ERR. */
int berth_store_check(const struct berth_site *site, struct berth_err *err);

/* If the index has another image by now for the URI of REQUEST than that of REQUEST,
 * returns true with a sentence in RET: the tag has moved. */
bool berth_store_has_moved(const struct berth_request *request, struct berth_err *ret);

/* Bytes of the name of a machine. */
enum { BERTH_STORE_MACHINE = 32 };

/* Split the path of the image of REQUEST into its directory, which the caller frees,
 * machine and digest. Returns false if it is not an image of a cache or store. */
bool berth_store_split(const struct berth_request *request, char **ret_directory,
                       char machine[BERTH_STORE_MACHINE],
                       char digest[BERTH_URI_DIGEST]);

/* Make PART, on the file system of DIRECTORY, the image of URI for MACHINE (NULL: this
 * host's), with the DIGEST in hexadecimal; FILE_DIGEST is that of the bytes of PART. An
 * image with that DIGEST that is there stays, with PART beside it, unless its bytes
 * have changed since it was added. The caller has the only pull of URI. Returns 0 with
 * the path in *RET_FILE, which the caller frees, or -1 with a sentence in ERR. */
int berth_store_add(const char *directory, const char *uri, const char *digest,
                    const char *machine, const char *part, const char *file_digest,
                    char **ret_file, struct berth_err *err);

/* The SHA-256 digest of the bytes of the file at PATH. Ctrl-C ends it. */
int berth_store_hash(const char *path, char ret[BERTH_URI_DIGEST],
                     struct berth_err *err);

/* Where the digest of the bytes of an image is kept, a symbolic link that leads
 * nowhere: DIRECTORY/BERTH_STORE_SUMS/FILE. */
#define BERTH_STORE_SUMS "work/sums"
