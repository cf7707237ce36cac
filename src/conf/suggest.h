/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_CONF_SUGGEST_H
#define BERTH_CONF_SUGGEST_H

#include "base/err.h"

/* NAME is no KIND, whose NAMES these are (ended by NULL, not empty): say so in ERR,
 * with the one that is near it, or all of them. Always returns -1. */
int berth_suggest(const char *name, const char *kind, const char *const *names,
                  struct berth_err *err);

#endif
