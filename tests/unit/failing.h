/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* An allocator that fails. The program that links it tells the linker which functions
 * it replaces (tests/check.am): those of the C library by which code of berth
 * allocates. What the C library allocates for itself does not fail. */

/* The allocation AT from now on, from 1, fails, and only that one. */
void failing_begin(size_t at);

/* From now on none fails. Returns whether one has failed. */
bool failing_end(void);
