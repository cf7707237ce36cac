/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether output has colours, and names their sequences. */

#include "base/color.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

/* Does a terminal of this environment have colours, and does its user want them? */
static bool may_have_color(void)
{
    const char *terminal = berth_text_given(getenv("TERM"));

    if (berth_text_given(getenv("NO_COLOR")))
        return false;
    return terminal && strcmp(terminal, "dumb") != 0;
}

int berth_color_read(const char *when, int fd, bool *ret, struct berth_err *err)
{
    if (!when || strcmp(when, "auto") == 0)
        *ret = isatty(fd) && may_have_color();
    else if (strcmp(when, "always") == 0)
        *ret = true;
    else if (strcmp(when, "never") == 0)
        *ret = false;
    else
        return berth_err_set(err, "--color: expected auto, always or never, got '%s'",
                             when);
    return 0;
}

/* The sequences are "select graphic rendition" of ECMA-48. The eight colours are those
 * of every terminal, in the shade that its user has chosen. */
const char *berth_color_begin(bool has_color, enum berth_color color)
{
    static const char *const sequences[] = {
        [BERTH_COLOR_GOOD] = "\033[32m",
        [BERTH_COLOR_NOTE] = "\033[33m",
        [BERTH_COLOR_WRONG] = "\033[1;31m",
        [BERTH_COLOR_ANSWER] = "\033[1m",
    };

    return has_color ? sequences[color] : "";
}

const char *berth_color_end(bool has_color)
{
    return has_color ? "\033[0m" : "";
}
