/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "pull/product.h"

/* Makes a sentence in ERR from WORDS, the last words of a runtime that did not pull URI
 * ("": none): the reason without what the runtime was doing, and what would be right.
 * RUNTIME is its path, and PRODUCT what it is. Always returns -1. */
int berth_pullfault_explain(const char *uri, const char *runtime,
                            const struct berth_product *product, const char *words,
                            struct berth_err *err);

/* Do WORDS say that there is no room? Then nothing is worth keeping. */
bool berth_pullfault_is_full(const char *words);
