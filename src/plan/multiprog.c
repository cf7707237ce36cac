/* SPDX-License-Identifier: Apache-2.0 */
/* The multi-prog configuration as text. Only releases before 23.11 need it, where a
 * plugin cannot put a word in front of a task's argv (see spank/local.c). */

#include "plan/multiprog.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

static void put_line(struct berth_buf *buf, const char *line, size_t length,
                     const char *program)
{
    size_t at = strspn(line, " \t");
    size_t ranks = strcspn(line + at, " \t\n");

    if (at >= length || line[at] == '#') {
        berth_buf_add(buf, line, length);
        return;
    }
    at += ranks;
    berth_buf_add(buf, line, at);
    berth_buf_puts(buf, " ");
    berth_buf_puts(buf, program);
    berth_buf_add(buf, line + at, length - at);
}

int berth_multiprog_prefix(const char *text, const char *program, char **ret_text,
                           struct berth_err *err)
{
    BERTH_BUF struct berth_buf buf = {0};
    int continued = 0;

    berth_buf_puts(&buf, "");
    while (*text) {
        size_t length = strcspn(text, "\n");

        if (continued)
            berth_buf_add(&buf, text, length);
        else
            put_line(&buf, text, length, program);
        continued = length > 0 && text[length - 1] == '\\';
        text += length;
        if (*text == '\n')
            berth_buf_add(&buf, text++, 1);
    }
    if (buf.failed)
        return berth_err_oom(err);
    *ret_text = berth_steal(&buf.text);
    return 0;
}
