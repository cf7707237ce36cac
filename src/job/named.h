/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "request/request.h"

/* Compare the image that a step WANTS with that of the container that HAS the name.
 * Returns 0 if the step leaves the image out or gives the same; -1 with a sentence in
 * ERR. */
int berth_job_check_image(const struct berth_request *has,
                          const struct berth_request *wants, struct berth_err *err);

/* May a step that WANTS these options join the container, which HAS others and runs for
 * another step, and find all that it asks for? The step may ask for less: for no
 * mounts, or some of them; and a default of the site's rules asks for nothing. Returns
 * 0, or -1 with a sentence in ERR that names the difference. */
int berth_job_check_running(const struct berth_request *has,
                            const struct berth_request *wants, struct berth_err *err);
