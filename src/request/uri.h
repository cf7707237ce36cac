/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* URIs of images in registries: docker://HOST/NAME:TAG, docker://HOST/NAME@sha256:...,
 * oras://..., library://... */

/* The schemes from which berth pulls, ended by NULL. */
extern const char *const berth_uri_schemes[];

/* Is TEXT a URI with any scheme ("x://y"), and not a path? */
bool berth_uri_is(const char *text);

/* Checks that berth can pull URI: its scheme, its form and its characters. The registry
 * knows which names exist. */
int berth_uri_check(const char *uri, struct berth_err *err);

/* The name of the directory of URI in a cache, which no other URI has: the scheme, `+`,
 * and the rest with `+` for `/` and `=` for `:`. A URI without a tag has the name of
 * `latest`. On success the caller frees *RET_NAME. Returns -1 with a sentence in ERR if
 * berth_uri_check() refuses URI or the name is too long for a file. */
int berth_uri_name(const char *uri, char **ret_name, struct berth_err *err);

/* The directory of the cache. CONFIGURED is images.cache of the site: an absolute path
 * in which `~` at the start stands for HOME, and $NAME or ${NAME} for the variable in
 * ENV. NULL: $XDG_CACHE_HOME/berth if that is absolute, else HOME/.cache/berth. HOME
 * NULL: not known. On success the caller frees *RET_PATH. */
int berth_uri_cache(const char *configured, char *const *env, const char *home,
                    char **ret_path, struct berth_err *err);
