/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* Make room for one more item in a list of COUNT items of SIZE bytes. ITEMS is the
 * address of the pointer to the first item, which may be NULL; *ROOM is how many fit.
 * Returns 0, or -1 out of memory, with the list as it was. */
static inline int berth_grow(void *items, size_t count, size_t *room, size_t size)
{
    void **place = items;
    size_t more = *room ? *room * 2 : 16;
    void *grown = count < *room ? *place : reallocarray(*place, more, size);

    if (!grown)
        return -1;
    *place = grown;
    *room = count < *room ? *room : more;
    return 0;
}

/* Append *ITEM to LIST, a structure with `items`, `count` and `room`, which owns what
 * *ITEM has from then on. Returns 0, and *ITEM is empty; or -1 out of memory. */
#define berth_append(list, item)                                                       \
    (berth_grow(&(list)->items, (list)->count, &(list)->room, sizeof(*(item))) < 0     \
         ? -1                                                                          \
         : ((list)->items[(list)->count++] = berth_steal(item), 0))
