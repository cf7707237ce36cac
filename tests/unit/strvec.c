/* SPDX-License-Identifier: Apache-2.0 */
/* A list of owned strings. */

#include "base/strvec.h"

#include "unit.h"

TEST(only_pushed_strings_are_found)
{
    BERTH_STRVEC struct berth_strvec vec = {0};

    ck_assert(!berth_strvec_has(&vec, ""));
    berth_strvec_push(&vec, "x");
    berth_strvec_push(&vec, "long");
    ck_assert(berth_strvec_has(&vec, "long"));
    ck_assert(!berth_strvec_has(&vec, "lon"));
    ck_assert(!berth_strvec_has(&vec, "longer"));
}
