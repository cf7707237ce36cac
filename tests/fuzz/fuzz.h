/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_TESTS_FUZZ_H
#define BERTH_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* What libFuzzer calls, and replay.c. Returns 0; a fault is a crash. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What always holds; else it is a crash. */
static inline void must(bool fact)
{
    if (!fact)
        abort();
}

#endif
