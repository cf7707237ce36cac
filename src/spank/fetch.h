/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "site/site.h"
#include "request/request.h"

/* Where the image of REQUEST is in a registry, pull it into the user's cache, and make
 * the file the image. In srun, sbatch and salloc, before anything is allocated. sbatch
 * and salloc leave it to the first srun inside where this host has no runtime. SITE is
 * only looked at for a URI. */
int berth_fetch_image(const struct berth_site *site, struct berth_request *request,
                      struct berth_err *err);
