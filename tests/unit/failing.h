/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Allocators that fail. The program that links them tells the linker which functions of
 * the C library they replace for berth (tests/check.am). */

/* Sanitizers have an allocator of their own: with them only berth's can fail. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FAILING_CAN_ALL 1
#else
#define FAILING_CAN_ALL 0
#endif

enum failing_allocations {
    /* Those by which code of berth allocates. What libraries allocate for themselves
     * does not fail. */
    FAILING_BERTHS,

    /* All of the process: also those of the C library and of libyaml for themselves. */
    FAILING_ALL,
};

struct failing {
    enum failing_allocations which;
    bool stays; /* after the first that fails, all fail */
};

/* The allocation AT from now on, from 1, fails, in the way of HOW; 0: none does. */
void failing_begin(const struct failing *how, size_t at);

/* From now on none fails. Returns whether one has failed. */
bool failing_end(void);
