/* SPDX-License-Identifier: Apache-2.0 */
/* Finds one value in text with a KEY = VALUE on each line. */

#include "site/keys.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BLANKS " \t\r"

/* The value from VALUE on, up to END or a comment before it, without blanks around it
 * and without quotes. NULL: it is empty, or out of memory. */
static char *copy_value(const char *value, const char *end)
{
    value += strspn(value, BLANKS);
    for (const char *c = value; c < end; c++)
        if (*c == '#' && c[-1] != '\\')
            end = c;
    while (end > value && strchr(BLANKS, end[-1]))
        end--;
    if (end > value + 1 && *value == '"' && end[-1] == '"') {
        value++;
        end--;
    }
    if (end <= value)
        return NULL;
    return strndup(value, (size_t)(end - value));
}

/* What follows `KEY =` at the beginning of LINE; NULL: LINE is of another key. */
static const char *after_key(const char *line, const char *key)
{
    line += strspn(line, BLANKS);
    if (strncasecmp(line, key, strlen(key)) != 0)
        return NULL;
    line += strlen(key);
    line += strspn(line, BLANKS);
    if (*line != '=')
        return NULL;
    return line + 1;
}

char *berth_keys_value(const char *text, const char *key)
{
    const char *line = text;
    char *found = NULL;

    while (*line) {
        const char *end = strchrnul(line, '\n');
        const char *value = after_key(line, key);

        if (value) {
            free(found);
            found = copy_value(value, end);
        }
        line = end;
        if (*line == '\n')
            line++;
    }
    return found;
}
