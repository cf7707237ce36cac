/* SPDX-License-Identifier: Apache-2.0 */
/* How a path that a user wrote becomes absolute, as text. */

#include "plan/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *without_dot(const char *text)
{
    while (text[0] == '.' && text[1] == '/') {
        text += 2;
        while (*text == '/')
            text++;
    }
    return text;
}

int berth_path_absolute(const char *text, const char *base, char **ret_path,
                        struct berth_err *err)
{
    char *path = NULL;

    if (*text == '/') {
        path = strdup(text);
        if (!path)
            return berth_err_oom(err);
    } else if (!base) {
        return berth_err_set(err, "'%s' is not absolute; expected a path from /", text);
    } else if (asprintf(&path, "%s/%s", strcmp(base, "/") == 0 ? "" : base,
                        without_dot(text)) < 0) {
        return berth_err_oom(err);
    }
    *ret_path = path;
    return 0;
}
