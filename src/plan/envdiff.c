/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what a container runtime has changed in an environment. */

#include "plan/envdiff.h"

#include <stdbool.h>
#include <string.h>

#include "base/environ.h"

/* Is IS the same as WAS, except that bytes which are not UTF-8 became U+FFFD? Apptainer
 * passes the environment on as JSON. */
static bool is_unchanged(const char *was, const char *is)
{
    static const char replacement[] = "\xef\xbf\xbd";

    while (*was && *is) {
        if ((unsigned char)*was >= 0x80 && strncmp(is, replacement, 3) == 0 &&
            strncmp(was, replacement, 3) != 0) {
            was += 1;
            is += 3;
        } else if (*was++ != *is++) {
            return false;
        }
    }
    return *was == *is;
}

void berth_envdiff(char *const *before, char *const *after, struct berth_strvec *ret)
{
    for (char *const *item = after; item && *item; item++) {
        const char *was = berth_environ_value(before, *item);
        const char *is = strchr(*item, '=');

        if (is && !(was && is_unchanged(was, is + 1)))
            berth_strvec_push(ret, *item);
    }
    for (char *const *item = before; item && *item; item++)
        if (strchr(*item, '=') && !berth_environ_value(after, *item))
            berth_strvec_pushf(ret, "%.*s", (int)strcspn(*item, "="), *item);
}
