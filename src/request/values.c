/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the form of values of configuration files, so that a wrong value is reported
 * with its line. Does not decide what a value means. */

#include "request/values.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "request/request.h"
#include "request/mount.h"

int berth_value_text(const char *text, struct berth_err *err)
{
    if (*text == '\0')
        return berth_err_expected(err, "a text", text);
    return 0;
}

static bool climbs(const char *path)
{
    while (*path) {
        size_t length = strcspn(path, "/");

        if (length == strlen("..") && berth_text_starts(path, ".."))
            return true;
        path += length;
        path += strspn(path, "/");
    }
    return false;
}

int berth_value_path(const char *text, struct berth_err *err)
{
    if (*text != '/')
        return berth_err_expected(err, "an absolute path", text);
    if (climbs(text))
        return berth_err_expected(err, "a path without '..'", text);
    return 0;
}

int berth_value_cache(const char *text, struct berth_err *err)
{
    if (!berth_text_starts(text, "~/") && *text != '$' && *text != '/')
        return berth_err_expected(err, "a path that starts with /, ~/ or $NAME", text);
    return 0;
}

/* Is TEXT, what follows the name of a compression, nothing or :LEVEL, up to HIGHEST? */
static bool is_level(const char *text, int highest)
{
    const char *level;
    size_t digits;

    if (*text == '\0')
        return true;
    level = text + strlen(":");
    digits = strspn(level, "0123456789");
    if (digits == 0 || digits > 2 || level[digits] != '\0')
        return false;
    return atoi(level) >= 1 && atoi(level) <= highest;
}

int berth_value_compression(const char *text, struct berth_err *err)
{
    static const struct {
        const char *name;
        int highest;
    } known[] = {{"zstd", 22}, {"gzip", 9}, {"lz4", 0}};
    size_t length = strcspn(text, ":");

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        bool is_name = strlen(known[i].name) == length &&
                       strncmp(text, known[i].name, length) == 0;

        if (is_name && is_level(text + length, known[i].highest))
            return 0;
    }
    return berth_err_expected(
        err, "zstd, zstd:LEVEL (1 to 22), gzip, gzip:LEVEL (1 to 9) or lz4", text);
}

int berth_value_mount(const char *text, struct berth_err *err)
{
    BERTH_MOUNT struct berth_mount mount = {0};

    if (*text != '/' || strchr(text, ','))
        return berth_err_expected(err, "SRC[:DST[:ro|rw|sqsh]] with absolute paths",
                                  text);
    return berth_mount_parse(text, NULL, &mount, err);
}

static bool is_name(const char *text, const char *also)
{
    for (const char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_' && !strchr(also, *c))
            return false;
    return *text && !isdigit((unsigned char)*text);
}

int berth_value_pattern(const char *text, struct berth_err *err)
{
    if (!is_name(text, "*"))
        return berth_err_expected(err, "the name of a variable, with * for any text",
                                  text);
    return 0;
}

int berth_value_variable(const char *text, struct berth_err *err)
{
    if (!is_name(text, ""))
        return berth_err_expected(err, "the name of a variable", text);
    return 0;
}

int berth_value_assignment(const char *text, struct berth_err *err)
{
    BERTH_FREE char *name = strndup(text, strcspn(text, "="));

    if (!name)
        return berth_err_oom(err);
    if (!strchr(text, '=') || !is_name(name, ""))
        return berth_err_expected(err, "NAME=VALUE", text);
    return 0;
}

int berth_value_uri(const char *text, struct berth_err *err)
{
    size_t scheme = strcspn(text, ":");

    for (size_t i = 0; i < scheme; i++)
        if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]))
            scheme = 0;
    if (scheme == 0 || !berth_text_starts(text + scheme, "://"))
        return berth_err_expected(err,
                                  "the beginning of a URI, like docker:// or "
                                  "oras://registry.example/climate/",
                                  text);
    return 0;
}

int berth_value_user(const char *text, struct berth_err *err)
{
    if (!*text || strpbrk(text, " :/,\t\n"))
        return berth_err_expected(err, "the name of a user", text);
    return 0;
}

int berth_value_fingerprint(const char *text, struct berth_err *err)
{
    size_t length = strspn(text, "0123456789abcdefABCDEF");

    if (text[length] || (length != 40 && length != 64))
        return berth_err_expected(err, "a fingerprint of 40 or 64 hexadecimal digits",
                                  text);
    return 0;
}

int berth_value_mode(const char *text, struct berth_err *err)
{
    if (!berth_mode_is_word(text))
        return berth_err_expected(
            err, "a mode of --mpi-bind, or a stack that `berth profiles` names", text);
    return 0;
}

/* Do the first LENGTH bytes of TEXT start and end with a letter or digit, and consist
 * of these and characters of ALSO? */
static bool is_label(const char *text, size_t length, const char *also)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr(also, text[i]))
            return false;
    return length > 0 && isalnum((unsigned char)text[0]) &&
           isalnum((unsigned char)text[length - 1]);
}

/* Are the first LENGTH bytes of TEXT a vendor.com/class? */
static bool is_kind(const char *text, size_t length)
{
    size_t vendor = strcspn(text, "/");

    return vendor < length && is_label(text, vendor, "-.") &&
           is_label(text + vendor + 1, length - vendor - 1, "-_.");
}

bool berth_value_is_device(const char *text)
{
    size_t kind = strcspn(text, "=");

    return text[kind] && is_kind(text, kind) &&
           is_label(text + kind + 1, strlen(text + kind + 1), "-_.:");
}
