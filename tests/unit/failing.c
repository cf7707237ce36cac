/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the allocations of berth, and lets one of them fail (ld(1), --wrap). */

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

static size_t left; /* allocations until the one that fails; 0: none does */
static bool has_failed;

void failing_begin(size_t at)
{
    left = at;
    has_failed = false;
}

bool failing_end(void)
{
    left = 0;
    return has_failed;
}

/* Is it the turn of this allocation to fail? */
static bool fails(void)
{
    if (left == 0)
        return false;
    left--;
    if (left > 0)
        return false;
    has_failed = true;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return fails() ? NULL : __real_realloc(block, size);
}

void *__wrap_reallocarray(void *block, size_t count, size_t size)
{
    return fails() ? NULL : __real_reallocarray(block, count, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t most)
{
    return fails() ? NULL : __real_strndup(text, most);
}

/* The manual leaves open what *RET is after an error: a caller must not look at it. */
int __wrap_vasprintf(char **ret, const char *format, va_list args)
{
    if (fails()) {
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
