/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "site/site.h"
#include "request/request.h"

/* For a verb that starts an image: where that of REQUEST is in a registry, pull it into
 * the user's cache, and make the file the image. */
int berth_cli_fetch(struct berth_request *request, const struct berth_site *site,
                    struct berth_err *err);
