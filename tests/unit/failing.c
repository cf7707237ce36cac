/* SPDX-License-Identifier: Apache-2.0 */
/* Counts allocations, and lets some fail. Those of berth are calls that the linker
 * sends here (ld(1), --wrap). From there, and from libraries, they go to malloc() and
 * its like, which are defined here too (the GNU C Library manual, "Replacing malloc").
 */

#include "failing.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_reallocarray(void *block, size_t count, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t most);
int __real_vasprintf(char **ret, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_reallocarray(void *block, size_t count, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t most);
int __wrap_asprintf(char **ret, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int __wrap_vasprintf(char **ret, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static struct {
    struct failing how;
    size_t at;   /* the first that fails, from 1; 0: none */
    size_t made; /* so far */
    bool has_failed;
} state;

void failing_begin(const struct failing *how, size_t at)
{
    state.how = *how;
    state.at = at;
    state.made = 0;
    state.has_failed = false;
}

bool failing_end(void)
{
    state.at = 0;
    return state.has_failed;
}

/* Does this allocation fail? */
static bool fails(enum failing_allocations which)
{
    bool is_its_turn;

    if (state.at == 0 || which != state.how.which)
        return false;
    state.made++;
    is_its_turn = state.made == state.at || (state.made > state.at && state.how.stays);
    if (!is_its_turn)
        return false;
    state.has_failed = true;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails(FAILING_BERTHS) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails(FAILING_BERTHS) ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return fails(FAILING_BERTHS) ? NULL : __real_realloc(block, size);
}

void *__wrap_reallocarray(void *block, size_t count, size_t size)
{
    return fails(FAILING_BERTHS) ? NULL : __real_reallocarray(block, count, size);
}

char *__wrap_strdup(const char *text)
{
    return fails(FAILING_BERTHS) ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t most)
{
    return fails(FAILING_BERTHS) ? NULL : __real_strndup(text, most);
}

/* The manual leaves open what *RET is after an error: a caller must not look at it. */
int __wrap_vasprintf(char **ret, const char *format, va_list args)
{
    if (fails(FAILING_BERTHS)) {
        *ret = (char *)format;
        return -1;
    }
    return __real_vasprintf(ret, format, args);
}

int __wrap_asprintf(char **ret, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = __wrap_vasprintf(ret, format, args);
    va_end(args);
    return length;
}

#if FAILING_CAN_ALL
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

void *malloc(size_t size)
{
    return fails(FAILING_ALL) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(FAILING_ALL) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return fails(FAILING_ALL) ? NULL : __libc_realloc(block, size);
}

void *reallocarray(void *block, size_t count, size_t size)
{
    return fails(FAILING_ALL) ? NULL : __libc_realloc(block, count * size);
}
#endif
