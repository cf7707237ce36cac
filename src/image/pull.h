/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "image/convert.h"
#include "request/request.h"

/* Find the image in the site's store, else in the cache, or have the runtime pull it
 * into the cache (`to_store`: the store alone), one process at a time; as the calling
 * user. Returns 0 with the path of the file in *RET_FILE, which the caller frees; or -1
 * with a sentence in ERR. */
int berth_pull_image(const struct berth_pull *pull, char **ret_file,
                     struct berth_err *err);

/* The directory of the user's cache, or of the store. The caller frees *RET. */
int berth_pull_directory(const struct berth_pull *pull, char **ret,
                         struct berth_err *err);

/* If the image of REQUEST is a URI without a file, pull it as HOW says (whose `uri` is
 * not used), and set the image to the file. Returns 0, or -1 with a sentence in ERR. */
int berth_pull_request(const struct berth_pull *how, struct berth_request *request,
                       struct berth_err *err);
