/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "site/site.h"
#include "request/request.h"

/* In srun, sbatch and salloc, before Slurm allocates anything: if the image of REQUEST
 * is a URI, pull the image into the user's cache, and set the image to that file. On a
 * host without a runtime, sbatch and salloc leave the pull to the first srun of the
 * job. SITE must have been read if the image is a URI. Returns 0, or -1 with a sentence
 * in ERR. */
int berth_fetch_image(const struct berth_site *site, struct berth_request *request,
                      struct berth_err *err);
