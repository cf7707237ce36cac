/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "pull/product.h"

/* Set ERR to a sentence for WORDS, the line in which a runtime gave up the pull of URI
 * ("": none): the reason, without what the runtime was doing, and what would be right.
 * RUNTIME is the path of the runtime, and PRODUCT its product. Returns -1. */
int berth_pullfault_explain(const char *uri, const char *runtime,
                            const struct berth_product *product, const char *words,
                            struct berth_err *err);

/* Do WORDS say that a file system is full? Then layers must not be kept. */
bool berth_pullfault_is_full(const char *words);
