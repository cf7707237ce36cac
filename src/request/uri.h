/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* URIs of images in registries: docker://HOST/NAME:TAG, docker://HOST/NAME@sha256:...,
 * oras://..., library://... */

/* The schemes from which berth pulls, ended by NULL. */
extern const char *const berth_uri_schemes[];

/* Is TEXT a URI with any scheme ("x://y"), and not a path? */
bool berth_uri_is(const char *text);

/* Does TEXT name something of one host from which the runtime builds an image:
 * docker-daemon:, docker-archive:, oci: or oci-archive:? */
bool berth_uri_is_build_source(const char *text);

/* For messages: the remedy, with that text. */
#define BERTH_URI_BUILD "make an image of it first: apptainer build image.sif %s"

/* Checks that berth can pull URI: its scheme, its form and its characters. The registry
 * knows which names exist. */
int berth_uri_check(const char *uri, struct berth_err *err);

/* The name of the directory of URI in a cache, which no other URI has: the scheme, `+`,
 * and the rest with `+` for `/` and `=` for `:`. A URI without a tag has the name of
 * `latest`. On success the caller frees *RET_NAME. Returns -1 with a sentence in ERR if
 * berth_uri_check() refuses URI or the name is too long for a file. */
int berth_uri_name(const char *uri, char **ret_name, struct berth_err *err);

/* The URI with that name. The caller frees it; NULL: out of memory. */
char *berth_uri_of_name(const char *name);

/* The directory of the cache. CONFIGURED is images.cache of the site: an absolute path
 * in which `~` at the start means HOME, and $NAME or ${NAME} for the variable in
 * ENV. NULL: $XDG_CACHE_HOME/berth if that is absolute, else HOME/.cache/berth. HOME
 * NULL: not known. On success the caller frees *RET_PATH. */
int berth_uri_cache(const char *configured, char *const *env, const char *home,
                    char **ret_path, struct berth_err *err);

/* Bytes of a SHA-256 digest in hexadecimal, with the NUL. */
enum { BERTH_URI_DIGEST = 65 };

/* Finds the first digest in TEXT, `sha256`, a character and 64 digits, as it stands in
 * URIs, names of images in the store and manifests. Returns false if there is none. */
bool berth_uri_digest(const char *text, char ret[BERTH_URI_DIGEST]);

/* Names of images in registries without a scheme, or in the spelling of enroot and
 * pyxis, and the URIs that their users mean. */

/* Does NAME look like an image in a registry: ubuntu:22.04, docker:ubuntu,
 * nvcr.io/nvidia/app, nvcr.io#nvidia/app? Then appends the URI to RET. A path may look
 * the same, so that the caller asks only about a file that does not exist. */
bool berth_registry_meant(const char *name, struct berth_buf *ret);

/* Could NAME be an image in a registry, even if it does not look like one: ubuntu? Then
 * appends the URI to RET. */
bool berth_registry_possible(const char *name, struct berth_buf *ret);

/* Is NAME, if it is not a file, an image in a registry, without a doubt which: with a
 * tag, a digest, a `#` or a registry? Then appends the URI to RET. Not docker:ubuntu,
 * which may mean the image `docker` or the scheme without slashes. */
bool berth_registry_names(const char *name, struct berth_buf *ret);

/* Is NAME the bare name of a registry, like nvcr.io? */
bool berth_registry_is_host(const char *name);

/* For messages: why `nvcr.io#nvidia/app` in a script arrives as `nvcr.io`. */
#define BERTH_REGISTRY_CUT "(Slurm cuts an #SBATCH line at '#')"

/* Does NAME end like the file of an image or an archive (.sif, .tar, ...)? */
bool berth_registry_is_file(const char *name);

/* A copy of URI with `/` in place of the `#` of docker://REGISTRY#NAME. A REGISTRY
 * without a dot gets the port that it has anyway: else it would be an organisation at
 * Docker's. The caller frees the copy. NULL: out of memory. */
char *berth_registry_plain(const char *uri);
