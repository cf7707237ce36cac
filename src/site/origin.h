/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "site/site.h"

/* Checks URI against images.uris of SITE, a list of beginnings of URIs. The rest of the
 * URI is empty or starts at a `/`, `:` or `@`: docker://host/a allows docker://host/a:1
 * and not docker://host/ab. A site with images.roots and without images.uris allows no
 * URI. Returns 0, or -1 with a sentence in ERR that names the place in berth.yaml. */
int berth_origin_check(const struct berth_site *site, const char *uri,
                       struct berth_err *err);
