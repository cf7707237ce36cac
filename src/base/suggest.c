/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the name that a user meant by a misspelt one. */

#include "base/suggest.h"

#include <stddef.h>
#include <string.h>

#include "base/buf.h"

enum { LONGEST = 128 };

static size_t least(size_t a, size_t b, size_t c)
{
    size_t smaller = a < b ? a : b;

    return smaller < c ? smaller : c;
}

/* Returns how many letters must be inserted, removed or replaced to turn FROM into TO
 * (Levenshtein); both have at most LONGEST. */
static size_t distance(const char *from, const char *to)
{
    size_t row[LONGEST + 1];
    size_t length = strlen(to);

    for (size_t k = 0; k <= length; k++)
        row[k] = k;
    for (size_t i = 1; from[i - 1]; i++) {
        size_t above = row[0];

        row[0] = i;
        for (size_t k = 1; k <= length; k++) {
            size_t corner = above;
            size_t replaced = from[i - 1] == to[k - 1] ? corner : corner + 1;

            above = row[k];
            row[k] = least(above + 1, row[k - 1] + 1, replaced);
        }
    }
    return row[length];
}

const char *berth_suggest_nearest(const char *name, const char *const *names,
                                  size_t most)
{
    size_t best = most;
    const char *found = NULL;

    if (strlen(name) > LONGEST)
        return NULL;
    for (; *names; names++) {
        size_t far;

        if (strlen(*names) > LONGEST)
            continue;
        far = distance(name, *names);

        /* Of two that are as near, the first one. */
        if (far < best || (far == best && !found)) {
            best = far;
            found = *names;
        }
    }
    return found;
}

int berth_suggest_meant(const char *name, const char *kind, const char *meant,
                        struct berth_err *err)
{
    return berth_err_set(err, "'%s' is not %s; did you mean '%s'?", name, kind, meant);
}

int berth_suggest_expected(const char *name, const char *kind, const char *expected,
                           struct berth_err *err)
{
    return berth_err_set(err, "'%s' is not %s; expected %s", name, kind, expected);
}

int berth_suggest_option(const char *word, const char *meant, const char *expected,
                         struct berth_err *err)
{
    if (!meant)
        return berth_suggest_expected(word, "an option", expected, err);
    return berth_err_set(err, "'%s' is not an option; did you mean '--%s'?", word,
                         meant);
}

int berth_suggest(const char *name, const char *kind, const char *const *names,
                  struct berth_err *err)
{
    BERTH_BUF struct berth_buf list = {0};
    const char *meant = berth_suggest_nearest(name, names, strlen(name) / 3 + 1);

    if (meant)
        return berth_suggest_meant(name, kind, meant, err);
    for (size_t i = 0; names[i]; i++) {
        bool is_last = !names[i + 1];

        if (i > 0)
            berth_buf_puts(&list, is_last ? " or " : ", ");
        berth_buf_puts(&list, names[i]);
    }
    if (list.failed)
        return berth_err_oom(err);
    return berth_suggest_expected(name, kind, list.text, err);
}
