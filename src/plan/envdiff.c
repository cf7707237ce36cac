/* SPDX-License-Identifier: Apache-2.0 */
/* Computes a task's environment in a container from that of another task. */

#include "plan/envdiff.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Variables sorted by name; borrows the strings. */
struct table {
    const char **items;
    size_t count;
};

static int by_name(const void *a, const void *b)
{
    const char *x = *(const char *const *)a;
    const char *y = *(const char *const *)b;
    size_t x_length = strcspn(x, "=");
    size_t y_length = strcspn(y, "=");
    int order = memcmp(x, y, x_length < y_length ? x_length : y_length);

    return order ? order : (x_length > y_length) - (x_length < y_length);
}

static bool make_table(const char *text, size_t count, struct table *ret)
{
    size_t room = 1;

    for (size_t i = 0; i < count; i++)
        room += text[i] == '\0';
    *ret = (struct table){.items = calloc(room, sizeof(*ret->items))};
    if (!ret->items)
        return false;
    for (size_t at = 0; at < count; at += strnlen(text + at, count - at) + 1)
        if (memchr(text + at, '\0', count - at))
            ret->items[ret->count++] = text + at;
    qsort(ret->items, ret->count, sizeof(*ret->items), by_name);
    return true;
}

static const char *find(const struct table *table, const char *variable)
{
    const char **item =
        bsearch(&variable, table->items, table->count, sizeof(*table->items), by_name);

    return item ? *item : NULL;
}

/* Is IS the same as WAS, except that bytes which are not UTF-8 became U+FFFD? Apptainer
 * passes the environment on as JSON. */
static bool unchanged(const char *was, const char *is)
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

/* Does the runtime neither set, change nor remove VARIABLE? */
static bool stays(const struct table *before, const struct table *after,
                  const char *variable)
{
    const char *was = find(before, variable);
    const char *is = find(after, variable);

    if (!is)
        return !was;
    return was && unchanged(was, is);
}

int berth_envdiff_apply(const char *before, size_t before_count, const char *after,
                        size_t after_count, char *const *own, struct berth_strvec *ret,
                        struct berth_err *err)
{
    struct table was = {0};
    struct table is = {0};

    if (!make_table(before, before_count, &was) ||
        !make_table(after, after_count, &is)) {
        free(was.items);
        free(is.items);
        return berth_err_oom(err);
    }
    for (; *own; own++)
        if (stays(&was, &is, *own))
            berth_strvec_push(ret, *own);
    for (size_t i = 0; i < is.count; i++) {
        const char *old = find(&was, is.items[i]);

        if (!old || !unchanged(old, is.items[i]))
            berth_strvec_push(ret, is.items[i]);
    }
    free(was.items);
    free(is.items);
    return ret->failed ? berth_err_oom(err) : 0;
}

void berth_envdiff_flatten(char *const *list, struct berth_buf *ret)
{
    for (; list && *list; list++)
        berth_buf_add(ret, *list, strlen(*list) + 1);
}
