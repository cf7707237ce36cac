/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* FNV-1a, 64 bits: to name and to compare, not to trust. */
#define BERTH_HASH_START UINT64_C(14695981039346656037)

/* HASH, which begins as BERTH_HASH_START, with COUNT more bytes. */
static inline uint64_t berth_hash(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;

    while (count--)
        hash = (hash ^ *at++) * UINT64_C(1099511628211);
    return hash;
}
