/* SPDX-License-Identifier: Apache-2.0 */
/* What is mounted over what, each once for all programs of a step. */

#include "bindover/bound.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Is PAIR, of two, in LIST? */
static bool has_pair(const struct berth_strvec *list, char *const *pair)
{
    for (size_t i = 0; i + 1 < list->count; i += 2)
        if (strcmp(list->items[i], pair[0]) == 0 &&
            strcmp(list->items[i + 1], pair[1]) == 0)
            return true;
    return false;
}

void berth_bound_drop(struct berth_strvec *pairs, struct berth_strvec *bound)
{
    size_t kept = 0;

    for (size_t i = 0; i + 1 < pairs->count; i += 2) {
        char *pair[] = {pairs->items[i], pairs->items[i + 1]};

        if (has_pair(bound, pair)) {
            free(pair[0]);
            free(pair[1]);
            continue;
        }
        berth_strvec_push(bound, pair[0]);
        berth_strvec_push(bound, pair[1]);
        pairs->items[kept++] = pair[0];
        pairs->items[kept++] = pair[1];
    }
    pairs->count = kept;
    if (pairs->items)
        pairs->items[kept] = NULL;
}
