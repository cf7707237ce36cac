/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <fnmatch.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Compares strings, finds their parts, and picks words of sentences. */

/* Returns the ending of a noun after COUNT: "1 image", "2 images". */
static inline const char *berth_text_plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* Returns BYTES in megabytes (10^6 bytes), rounded. */
static inline long long berth_text_megabytes(long long bytes)
{
    return (bytes + 500000) / 1000000;
}

static inline bool berth_text_starts(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Is TEXT one of NAMES (ended by NULL)? */
static inline bool berth_text_is_any(const char *text, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(text, *names) == 0)
            return true;
    return false;
}

/* Is WORD one of the words of LIST, which has commas between them (NULL: none)? */
static inline bool berth_text_lists(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (; list && *list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
        if (strcspn(list, ",") == length && strncmp(list, word, length) == 0)
            return true;
    return false;
}

/* Does TEXT match one of PATTERNS (fnmatch(3); ended by NULL; NULL: none)? */
static inline bool berth_text_matches_any(const char *text, const char *const *patterns)
{
    for (; patterns && *patterns; patterns++)
        if (fnmatch(*patterns, text, 0) == 0)
            return true;
    return false;
}

/* Does TEXT start with one of STARTS (ended by NULL)? */
static inline bool berth_text_starts_any(const char *text, const char *const *starts)
{
    for (; *starts; starts++)
        if (berth_text_starts(text, *starts))
            return true;
    return false;
}

static inline bool berth_text_ends(const char *text, const char *end)
{
    size_t length = strlen(text), rest = strlen(end);

    return length >= rest && strcmp(text + length - rest, end) == 0;
}

/* Returns what is after the last slash of PATH, or PATH if it has none. */
static inline const char *berth_text_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Returns TEXT, or OTHER if TEXT is NULL. */
static inline const char *berth_text_or(const char *text, const char *other)
{
    if (text)
        return text;
    return other;
}

/* Returns TEXT; NULL: it is NULL or empty. A variable that is set to nothing counts as
 * one that is not set. */
static inline const char *berth_text_given(const char *text)
{
    if (text && *text)
        return text;
    return NULL;
}

/* Returns what is after the first MARK in TEXT; NULL: it has none. */
static inline const char *berth_text_after(const char *text, char mark)
{
    const char *found = strchr(text, mark);

    if (!found)
        return NULL;
    return found + 1;
}

/* Returns the line after the one at TEXT; "": that is the last one. */
static inline const char *berth_text_next_line(const char *text)
{
    const char *end = strchrnul(text, '\n');

    if (*end == '\n')
        end++;
    return end;
}
