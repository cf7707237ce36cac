/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "site/site.h"
#include "request/request.h"

/* If the image of REQUEST is in a registry, pull it into the user's cache and put the
 * path of the file into REQUEST. SITE has the runtime, the cache and what is allowed.
 */
int berth_cli_fetch(struct berth_request *request, const struct berth_site *site,
                    struct berth_err *err);
