/* SPDX-License-Identifier: Apache-2.0 */
/* Lists that grow. */

#include "base/grow.h"

#include <stdlib.h>

int berth_grow(void *items, size_t count, size_t *room, size_t size)
{
    void **place = items;
    void *grown;

    if (count < *room)
        return 0;
    grown = reallocarray(*place, *room ? *room * 2 : 16, size);
    if (!grown)
        return -1;
    *place = grown;
    *room = *room ? *room * 2 : 16;
    return 0;
}
