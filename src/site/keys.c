/* SPDX-License-Identifier: Apache-2.0 */
/* Finds one value in text with a KEY = VALUE on each line. */

#include "site/keys.h"

#include <string.h>
#include <strings.h>

#define BLANKS " \t\r"

/* The text after the `=` if the line of LENGTH bytes sets KEY; else NULL. */
static const char *value_after(const char *line, size_t length, const char *key)
{
    const char *end = line + length;
    size_t count = strlen(key);

    line += strspn(line, BLANKS);
    if (line + count >= end || strncasecmp(line, key, count) != 0)
        return NULL;
    line += count;
    line += strspn(line, BLANKS);
    return line < end && *line == '=' ? line + 1 : NULL;
}

static char *copy_value(const char *value, const char *end)
{
    const char *comment;

    value += strspn(value, BLANKS);
    for (comment = value; comment < end; comment++)
        if (*comment == '#' && comment[-1] != '\\')
            end = comment;
    while (end > value && strchr(BLANKS, end[-1]))
        end--;
    if (end > value + 1 && *value == '"' && end[-1] == '"') {
        value++;
        end--;
    }
    return end > value ? strndup(value, (size_t)(end - value)) : NULL;
}

char *berth_keys_value(const char *text, const char *key)
{
    const char *found = NULL;
    const char *found_end = NULL;

    while (*text) {
        size_t length = strcspn(text, "\n");
        const char *value = value_after(text, length, key);

        if (value) {
            found = value;
            found_end = text + length;
        }
        text += length + (text[length] == '\n');
    }
    return found ? copy_value(found, found_end) : NULL;
}
