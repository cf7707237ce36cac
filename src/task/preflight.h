/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "request/request.h"

/* Can the runtime use the names of the image and the mounts, and does the source of
 * each mount exist? */
int berth_preflight_check(const struct berth_request *request, struct berth_err *err);
