/* SPDX-License-Identifier: Apache-2.0 */
/* Anybody's bytes, read as what a loader says. */

#include "elf/closure.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct berth_closure closure;

    if (berth_closure_parse((const char *)data, size, &closure, NULL) < 0)
        return 0;
    /* What was found has a name. */
    for (size_t i = 0; i < closure.count; i++)
        must(closure.items[i].soname != NULL);
    berth_closure_fini(&closure);
    return 0;
}
