/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the value of --container-name. */

#include "request/named.h"

#include <string.h>

#include "base/text.h"

/* Bytes of a name: messages repeat it. */
enum { LONGEST_NAME = 63 };

static const char first_letters[] = "abcdefghijklmnopqrstuvwxyz"
                                    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789";
static const char digits[] = "0123456789";
static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789._-";

int berth_named_length(const char *text)
{
    return (int)strcspn(text, ":");
}

const char *berth_named_flag(const char *text)
{
    return berth_text_or(berth_text_after(text, ':'), BERTH_NAMED_AUTO);
}

/* Are the LENGTH bytes at TEXT a name? */
static bool is_name(const char *text, size_t length)
{
    if (length == 0 || length > LONGEST_NAME)
        return false;
    return strchr(first_letters, *text) && strspn(text, letters) == length;
}

int berth_named_check(const char *text, struct berth_err *err)
{
    const size_t length = (size_t)berth_named_length(text);
    static const char *const flags[] = {BERTH_NAMED_AUTO, BERTH_NAMED_CREATE,
                                        BERTH_NAMED_EXEC, BERTH_NAMED_NO_EXEC, NULL};

    if (!is_name(text, length))
        return berth_err_set(err,
                             "'%s' is not a name; expected at most %d letters, digits, "
                             "., _ and -, of which the first is a letter or digit",
                             text, LONGEST_NAME);
    if (!berth_text_is_any(berth_named_flag(text), flags))
        return berth_err_expected(err, "create, exec or no_exec after the colon",
                                  berth_named_flag(text));
    return 0;
}

bool berth_named_same(const char *a, const char *b)
{
    const int length = berth_named_length(a);

    return length == berth_named_length(b) && strncmp(a, b, (size_t)length) == 0;
}

bool berth_named_is_step(const char *text)
{
    const size_t job = strspn(text, digits);
    const char *step = text + job + strlen(".");

    if (job == 0 || text[job] != '.')
        return false;
    return *step &&
           (int)(job + strlen(".") + strspn(step, digits)) == berth_named_length(text);
}
