/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* An image in a registry: docker://HOST/NAME:TAG, docker://HOST/NAME@sha256:...,
 * oras://..., library://... */

/* The schemes that can be pulled, ended by NULL. */
extern const char *const berth_uri_schemes[];

/* Is TEXT a URI of any scheme ("x://y"), and not a path? */
bool berth_uri_is(const char *text);

/* Is URI one that can be pulled? Checks only that a command line and a log can carry
 * it; the registry knows which names exist. */
int berth_uri_check(const char *uri, struct berth_err *err);

/* A name for the directory of URI in a cache, with no other URI's: the scheme, `+`, and
 * the rest with `+` for `/` and `=` for `:`; without a tag it is that of `latest`. On
 * success the caller frees *RET_NAME. Returns 0; -1 with a sentence in ERR for what
 * berth_uri_check() refuses, and for what is too long. */
int berth_uri_name(const char *uri, char **ret_name, struct berth_err *err);

/* The place of the cache. CONFIGURED is what the site says (NULL: nothing): an absolute
 * path in which a `~` at the start is the user's HOME and $NAME or ${NAME} is the
 * variable in ENV. By default $XDG_CACHE_HOME/berth, else HOME/.cache/berth. HOME may
 * be NULL: not known. On success the caller frees *RET_PATH. */
int berth_uri_cache(const char *configured, char *const *env, const char *home,
                    char **ret_path, struct berth_err *err);
