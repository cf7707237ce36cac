/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "site/site.h"

/* May images of URI be used on SITE? Its list has beginnings of URIs, each up to a `/`,
 * `:` or `@` or to the end: docker://host/a allows docker://host/a:1 and not
 * docker://host/ab. Where the site names directories of images and no URIs, those are
 * all. */
int berth_origin_check(const struct berth_site *site, const char *uri,
                       struct berth_err *err);
