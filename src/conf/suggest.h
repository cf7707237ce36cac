/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_CONF_SUGGEST_H
#define BERTH_CONF_SUGGEST_H

#include "base/err.h"

/* NAME is none of NAMES (ended by NULL, not empty): say so in ERR, with the one that is
 * near it, or all of them. Always returns -1. */
int berth_suggest(const char *name, const char *const *names, struct berth_err *err);

/* The same, for a NAME that is no KIND, with all of them. */
int berth_suggest_all(const char *name, const char *kind, const char *const *names,
                      struct berth_err *err);

#endif
