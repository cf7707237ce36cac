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

int berth_path_absolute(const char *text, const char *base, char **ret_path,
                        struct berth_err *err)
{
    char *path = NULL;

    if (*text == '/') {
        path = strdup(text);
        if (!path)
            return berth_err_oom(err);
    } else if (berth_text_starts(text, "~/")) {
        return berth_err_set(err,
                             "'%s': neither the shell nor Slurm expands '~' here; "
                             "write the path from /, or on a command line $HOME%s",
                             text, text + 1);
    } else if (*text == '~' || *text == '$') {
        return berth_err_set(err,
                             "'%s': neither the shell nor Slurm expands '%c' here; "
                             "write the path from /",
                             text, *text);
    } else if (!base) {
        return berth_err_expected(err, "a path from /", text);
    } else if (asprintf(&path, "%s/%s", strcmp(base, "/") == 0 ? "" : base,
                        without_dot(text)) < 0) {
        return berth_err_oom(err);
    }
    *ret_path = path;
    return 0;
}

char *berth_path_clean(const char *text)
{
    char *clean = malloc(strlen(text) + 2);
    size_t used = 0;

    while (clean && *text) {
        size_t length = strcspn(text, "/");
        bool up = length == 2 && berth_text_starts(text, "..");

        if (up)
            while (used > 0 && clean[--used] != '/')
                ;
        else if (length > 0 && !(length == 1 && *text == '.')) {
            clean[used++] = '/';
            memcpy(clean + used, text, length);
            used += length;
        }
        text += length + (text[length] == '/');
    }
    if (clean && used == 0)
        clean[used++] = '/';
    if (clean)
        clean[used] = '\0';
    return clean;
}

char *berth_path_beside(const char *file, const char *name)
{
    const char *slash = strrchr(file, '/');
    char *path = NULL;

    if (*name == '/' || !slash)
        return strdup(name);
    return asprintf(&path, "%.*s/%s", (int)(slash - file), file, name) < 0 ? NULL
                                                                           : path;
}

bool berth_path_is_within(const char *path, const char *directory)
{
    size_t length = strlen(directory);

    if (strcmp(directory, "/") == 0)
        return true;
    return strncmp(path, directory, length) == 0 &&
           (path[length] == '/' || path[length] == '\0');
}
