/* SPDX-License-Identifier: Apache-2.0 */
/* Finds one value in text with a KEY = VALUE on each line. */

#include "site/keys.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BLANKS " \t\r"

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
    const size_t count = strlen(key);
    char *found = NULL;

    for (const char *end; *text; text = end + (*end == '\n')) {
        const char *at = text + strspn(text, BLANKS);

        end = strchrnul(text, '\n');
        if (strncasecmp(at, key, count) != 0)
            continue;
        at += count;
        at += strspn(at, BLANKS);
        if (*at != '=')
            continue;
        free(found);
        found = copy_value(at + 1, end);
    }
    return found;
}
