/* SPDX-License-Identifier: Apache-2.0 */
/* The multi-prog configuration as text. Releases before 23.11 need a program in it,
 * since a plugin cannot put a word in front of a task's argv there (see spank/local.c).
 */

#include "request/multiprog.h"

#include <stdbool.h>
#include <stdlib.h>
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

/* The next word of *AT before END; NULL: there is none. The caller frees it. */
static char *next_word(const char **at, const char *end)
{
    const char *start = *at + strspn(*at, " \t");
    size_t length = strcspn(start, " \t\n");

    if (start >= end || length == 0)
        return NULL;
    *at = start + length;
    return strndup(start, length);
}

static void add_program(const char *line, size_t length, const char *prefix,
                        struct berth_strvec *ret)
{
    const char *end = line + length;
    BERTH_FREE char *ranks = next_word(&line, end);
    BERTH_FREE char *program = ranks && *ranks != '#' ? next_word(&line, end) : NULL;

    if (program && strcmp(program, prefix) == 0) {
        free(program);
        program = next_word(&line, end);
    }
    if (program && !berth_strvec_has(ret, program))
        berth_strvec_push(ret, program);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int berth_multiprog_programs(const char *text, const char *prefix,
                             struct berth_strvec *ret, struct berth_err *err)
{
    bool continued = false;

    while (*text) {
        size_t length = strcspn(text, "\n");

        if (!continued)
            add_program(text, length, prefix, ret);
        continued = length > 0 && text[length - 1] == '\\';
        text += length + (text[length] == '\n');
    }
    if (ret->failed)
        return berth_err_oom(err);
    if (ret->count > 1)
        qsort(ret->items, ret->count, sizeof(*ret->items), compare);
    return 0;
}
