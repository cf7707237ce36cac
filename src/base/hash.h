/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* FNV-1a, 64 bits. It names and compares; it does not protect against somebody who
 * wants two texts to have the same hash. */
#define BERTH_HASH_START UINT64_C(14695981039346656037)

/* Returns HASH, or at first BERTH_HASH_START, with COUNT more bytes mixed in. */
static inline uint64_t berth_hash(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;

    while (count--)
        hash = (hash ^ *at++) * UINT64_C(1099511628211);
    return hash;
}
