/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_SITE_SUGGEST_H
#define BERTH_SITE_SUGGEST_H

#include "base/err.h"

/* Sets in ERR that NAME is not KIND ("a key here"), with the nearest of NAMES as the
 * correction, or all of NAMES where none is near. NAMES ends with NULL and is not
 * empty. Always returns -1. */
int berth_suggest(const char *name, const char *kind, const char *const *names,
                  struct berth_err *err);

#endif
