/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as text: makes them absolute, cleans and compares them. Reads no file. */

#include "request/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char *without_dot(const char *text)
{
    while (text[0] == '.' && text[1] == '/') {
        text += 2;
        while (*text == '/')
            text++;
    }
    return text;
}

/* Refuses TEXT, which begins with a character that a shell would expand. */
static int refuse_expansion(const char *text, struct berth_err *err)
{
    if (berth_text_starts(text, "~/"))
        return berth_err_set(err,
                             "'%s': neither the shell nor Slurm expands '~' here; "
                             "write the path from /, or on a command line $HOME%s",
                             text, text + 1);
    return berth_err_set(err,
                         "'%s': neither the shell nor Slurm expands '%c' here; write "
                         "the path from /",
                         text, *text);
}

int berth_path_absolute(const char *text, const char *base, char **ret_path,
                        struct berth_err *err)
{
    const char *directory = base;
    char *path;

    if (*text == '~' || *text == '$')
        return refuse_expansion(text, err);
    if (base && strcmp(base, "/") == 0)
        directory = ""; /* the slash is added below */
    if (*text == '/')
        path = strdup(text);
    else if (!base)
        return berth_err_expected(err, "a path from /", text);
    else if (asprintf(&path, "%s/%s", directory, without_dot(text)) < 0)
        path = NULL;
    if (!path)
        return berth_err_oom(err);
    *ret_path = path;
    return 0;
}

/* The length of PATH, of USED bytes, without its last component. */
static size_t cut_last(const char *path, size_t used)
{
    while (used > 0 && path[used - 1] != '/')
        used--;
    if (used > 0)
        used--; /* the slash */
    return used;
}

char *berth_path_clean(const char *text)
{
    char *clean = malloc(strlen(text) + 2);
    size_t used = 0;

    if (!clean)
        return NULL;
    while (*text) {
        size_t length = strcspn(text, "/");
        bool is_up = length == 2 && berth_text_starts(text, "..");
        bool is_here = length == 1 && *text == '.';

        if (is_up) {
            used = cut_last(clean, used);
        } else if (length > 0 && !is_here) {
            clean[used] = '/';
            memcpy(clean + used + 1, text, length);
            used += length + 1;
        }
        text += length;
        text += strspn(text, "/");
    }
    if (used == 0) {
        clean[used] = '/';
        used++;
    }
    clean[used] = '\0';
    return clean;
}

char *berth_path_beside(const char *file, const char *name)
{
    const char *slash = strrchr(file, '/');
    char *path = NULL;

    if (*name == '/' || !slash)
        return strdup(name);
    if (asprintf(&path, "%.*s/%s", (int)(slash - file), file, name) < 0)
        return NULL;
    return path;
}

bool berth_path_is_within(const char *path, const char *directory)
{
    size_t length = strlen(directory);

    if (strcmp(directory, "/") == 0)
        return true;
    return strncmp(path, directory, length) == 0 &&
           (path[length] == '/' || path[length] == '\0');
}
