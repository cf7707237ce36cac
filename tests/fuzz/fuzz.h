/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What libFuzzer calls, and replay.c. Returns 0; a fault is a crash. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What always holds; else it is a crash. */
static inline void must(bool fact)
{
    if (!fact)
        abort();
}

/* The bytes and a NUL behind them. The caller frees it. */
static inline char *text_of(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    must(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}
