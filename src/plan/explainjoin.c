/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one JSON document of what the components of a step print. */

#include "plan/explainjoin.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"

/* What one component has printed. */
struct part {
    unsigned int number;
    struct berth_buf lines; /* indented, without the number */
};

struct parts {
    struct part *items;
    size_t count, room;
};

/* Returns the part NUMBER of PARTS, a new one if it has none; NULL: out of memory. */
static struct part *part_of(struct parts *parts, unsigned int number)
{
    struct part fresh = {.number = number};

    for (size_t i = 0; i < parts->count; i++)
        if (parts->items[i].number == number)
            return &parts->items[i];
    if (berth_append(parts, &fresh) < 0)
        return NULL;
    return &parts->items[parts->count - 1];
}

/* Read the number that the line at TEXT starts with. Returns what follows its colon and
 * blank; NULL: it has none. */
static const char *read_number(const char *text, unsigned int *ret)
{
    char *end;

    if (*text < '0' || *text > '9')
        return NULL;
    *ret = (unsigned int)strtoul(text, &end, 10);
    if (!berth_text_starts(end, ": "))
        return NULL;
    return end + strlen(": ");
}

/* Sort the lines of TEXT by their numbers. Returns false if TEXT is something else, or
 * out of memory, which *RET_FAILED says. */
static bool split(const char *text, struct parts *parts, bool *ret_failed)
{
    for (const char *line = text; *line; line = berth_text_next_line(line)) {
        unsigned int number;
        const char *rest = read_number(line, &number);
        struct part *part;

        if (!rest)
            return false;
        part = part_of(parts, number);
        if (!part) {
            *ret_failed = true;
            return false;
        }
        /* what is printed for each component begins so, also if lines are mixed */
        if (part->lines.used == 0 && *rest != '{')
            return false;
        if (part->lines.used > 0)
            berth_buf_puts(&part->lines, "\n");
        berth_buf_puts(&part->lines, "  ");
        berth_buf_add(&part->lines, rest, strcspn(rest, "\n"));
        *ret_failed |= part->lines.failed;
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct part *one = a, *other = b;

    if (one->number == other->number)
        return 0;
    return one->number < other->number ? -1 : 1;
}

static void write_array(struct parts *parts, struct berth_buf *ret)
{
    qsort(parts->items, parts->count, sizeof(*parts->items), compare);
    berth_buf_puts(ret, "[\n");
    for (size_t i = 0; i < parts->count; i++) {
        bool is_last = i + 1 == parts->count;

        berth_buf_puts(ret, berth_buf_text(&parts->items[i].lines));
        berth_buf_puts(ret, is_last ? "\n" : ",\n");
    }
    berth_buf_puts(ret, "]\n");
}

void berth_explain_join(const char *text, struct berth_buf *ret)
{
    struct parts parts = {0};
    bool failed = false;
    bool is_split = split(text, &parts, &failed);

    ret->failed |= failed;
    if (is_split && parts.count > 0)
        write_array(&parts, ret);
    else
        berth_buf_puts(ret, text);
    for (size_t i = 0; i < parts.count; i++)
        berth_buf_fini(&parts.items[i].lines);
    free(parts.items);
}
