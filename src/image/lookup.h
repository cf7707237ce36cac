/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "request/request.h"
#include "site/site.h"

/* Where an image from a registry is: the store of the site is asked before the cache of
 * the user. */

/* The directory of the user's cache: what SITE says, in the environment ENV. Makes
 * nothing. The caller frees *RET. */
int berth_lookup_cache(const struct berth_site *site, char *const *env, char **ret,
                       struct berth_err *err);

/* Find the image of URI for MACHINE, as `uname -m` prints it (NULL: for any), in the
 * store, else in the cache. Returns 0 with its path in *RET_FILE, which the caller
 * frees; NULL: there is none. Returns -1 with a sentence in ERR if others could have
 * written the store or the cache, or it is not known where the cache is. */
int berth_lookup(const struct berth_site *site, char *const *env, const char *uri,
                 const char *machine, char **ret_file, struct berth_err *err);

/* If the image of REQUEST is a word like `ubuntu`, there is no such file in the current
 * directory, and SITE says that such a word is an image in a registry (images.bare),
 * makes its URI the image. Returns 0, or -1 with a sentence in ERR. */
int berth_lookup_word(const struct berth_site *site, struct berth_request *request,
                      struct berth_err *err);

/* On the node of a task with the environment ENV: if the image of REQUEST is for
 * another machine, and there is one of the same URI for this machine, beside it, in the
 * store or in the cache, put that into REQUEST. Returns 0, or -1 with a sentence in
 * ERR. */
int berth_lookup_fit(const struct berth_site *site, char *const *env,
                     struct berth_request *request, struct berth_err *err);
