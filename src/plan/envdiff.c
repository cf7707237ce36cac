/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what a container runtime has changed in an environment. */

#include "plan/envdiff.h"

#include <stdbool.h>
#include <string.h>

#include "base/environ.h"
#include "base/text.h"

/* U+FFFD, which Apptainer writes for each byte that is not UTF-8: it passes the
 * environment on as JSON. */
static const char replacement[] = "\xef\xbf\xbd";

/* Does IS start with a replacement of the byte at WAS? */
static bool is_replaced(const char *was, const char *is)
{
    bool is_ascii = (unsigned char)*was < 0x80;

    if (is_ascii || berth_text_starts(was, replacement))
        return false;
    return berth_text_starts(is, replacement);
}

/* Is IS the same as WAS, except for bytes that are replaced? */
static bool is_unchanged(const char *was, const char *is)
{
    while (*was && *is) {
        if (is_replaced(was, is)) {
            was++;
            is += strlen(replacement);
            continue;
        }
        if (*was != *is)
            return false;
        was++;
        is++;
    }
    return *was == *is;
}

void berth_envdiff(char *const *before, char *const *after, struct berth_strvec *ret)
{
    for (char *const *item = after; item && *item; item++) {
        const char *was = berth_environ_value(before, *item);
        const char *equals = strchr(*item, '=');

        if (!equals)
            continue;
        if (!was || !is_unchanged(was, equals + 1))
            berth_strvec_push(ret, *item);
    }
    for (char *const *item = before; item && *item; item++)
        if (strchr(*item, '=') && !berth_environ_value(after, *item))
            berth_strvec_pushf(ret, "%.*s", (int)strcspn(*item, "="), *item);
}
