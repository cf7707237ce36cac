/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Make room in a list that holds COUNT items of SIZE bytes for one more. ITEMS is the
 * address of the pointer to the first, which may be NULL, *ROOM how many fit. Returns
 * 0, or -1 out of memory with the list as it was. */
int berth_grow(void *items, size_t count, size_t *room, size_t size);
