/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as values: how a sentence is written, bounded and made safe to show. Knows
 * nothing of who prints it. */

#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Is the character at TEXT one of U+0080 to U+009F? It has two bytes then. */
static bool is_c1(const char *text)
{
    unsigned char first = (unsigned char)text[0];
    unsigned char second = (unsigned char)text[1];

    return first == 0xc2 && second >= 0x80 && second < 0xa0;
}

/* Write the character C, escaped if it is a control character, to TO, which has room
 * for it. Returns how many bytes these are. */
static size_t put_escaped(char *to, unsigned char c, bool is_control)
{
    enum { ROOM = 5 };

    if (!is_control) {
        *to = (char)c;
        return 1;
    }
    if (c == '\n')
        return (size_t)snprintf(to, ROOM, "\\n");
    return (size_t)snprintf(to, ROOM, "\\x%02x", c);
}

void berth_err_escape(char *to, size_t size, const char *from)
{
    enum { LONGEST = 4, DOTS = 4 }; /* \xNN; "..." and the NUL */
    size_t used = 0;

    for (; *from; from++) {
        bool is_control = is_c1(from);
        unsigned char c;

        if (used + LONGEST + DOTS > size) {
            memcpy(to + used, "...", DOTS);
            return;
        }
        if (is_control)
            from++; /* the second byte is the number of the character */
        c = (unsigned char)*from;
        if (c < 0x20 || c == 0x7f)
            is_control = true;
        used += put_escaped(to + used, c, is_control);
    }
    to[used] = '\0';
}

int berth_err_set(struct berth_err *err, const char *format, ...)
{
    char raw[BERTH_ERR_SIZE * 2];
    va_list args;

    if (!err)
        return -1;
    va_start(args, format);
    vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    berth_err_escape(err->text, sizeof(err->text), raw);
    err->code = BERTH_ERR_OTHER;
    return -1;
}

int berth_err_mark(struct berth_err *err, enum berth_err_code code)
{
    if (err)
        err->code = code;
    return -1;
}

int berth_err_at(struct berth_err *err, const char *format, ...)
{
    char place[BERTH_ERR_SIZE];
    struct berth_err inner;
    va_list args;

    if (!err)
        return -1;
    va_start(args, format);
    vsnprintf(place, sizeof(place), format, args);
    va_end(args);
    inner = *err;
    berth_err_set(err, "%s: %s", place, inner.text);
    return berth_err_mark(err, inner.code);
}

int berth_err_expected(struct berth_err *err, const char *expected, const char *got)
{
    return berth_err_set(err, "expected %s, got '%s'", expected, got);
}

int berth_err_file(struct berth_err *err, const char *path, const char *done)
{
    return berth_err_set(err, "'%s': cannot be %s: %s", path, done, strerror(errno));
}

/* The option of ulimit for the limit that a process has reached; NULL: it may be
 * another one, or the node's. */
static const char *ulimit_of(int number)
{
    switch (number) {
    case EFBIG:
        return "-f";
    case EMFILE:
        return "-n";
    default:
        return NULL;
    }
}

int berth_err_spent(struct berth_err *err, int number)
{
    const char *option = ulimit_of(number);

    if (option)
        return berth_err_set(
            err,
            "a limit of this process is too low for berth (%s); raise it: ulimit %s",
            strerror(number), option);
    return berth_err_set(
        err,
        "this node has no memory, process or descriptor left (%s); try "
        "again, and report the node if it stays so",
        strerror(number));
}

int berth_err_oom(struct berth_err *err)
{
    berth_err_spent(err, ENOMEM);
    return berth_err_mark(err, BERTH_ERR_MEMORY);
}

int berth_err_oom_if(bool failed, struct berth_err *err)
{
    if (failed)
        return berth_err_oom(err);
    return 0;
}

int berth_err_damaged(struct berth_err *err, const char *format, ...)
{
    char what[48];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    return berth_err_set(
        err,
        "internal data is damaged (%s); have one release of berth on all "
        "hosts, and set no variable of berth by hand",
        what);
}
