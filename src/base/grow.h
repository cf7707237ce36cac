/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Make room for one more item in a list of COUNT items of SIZE bytes. ITEMS is the
 * address of the pointer to the first item, which may be NULL; *ROOM is how many fit.
 * Returns 0, or -1 out of memory, with the list as it was. */
int berth_grow(void *items, size_t count, size_t *room, size_t size);
