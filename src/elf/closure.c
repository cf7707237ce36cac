/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the output of a loader into a list of libraries. Starts no loader, and does not
 * check whether the paths exist. */

#include "elf/closure.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text.h"

enum { TEXT_MAX = 1 << 20, SAID_MAX = 32 };

static int add_item(struct berth_closure *closure, const char *name, const char *path,
                    struct berth_err *err)
{
    struct berth_closure_item item = {.soname = strdup(berth_text_base(name))};
    bool is_whole = item.soname;

    if (path) {
        item.path = strdup(path);
        is_whole = is_whole && item.path;
    }
    if (is_whole && berth_append(closure, &item) == 0)
        return 0;
    free(item.soname);
    free(item.path);
    return berth_err_oom(err);
}

static int add_missing(struct berth_closure *closure, const char *name,
                       struct berth_err *err)
{
    if (berth_closure_find(closure, berth_text_base(name)))
        return 0;
    return add_item(closure, name, NULL, err);
}

/* The last WANTED in TEXT: a directory may have such a name. NULL: there is none. */
static char *find_last(char *text, const char *wanted)
{
    char *found = NULL;

    for (char *at = strstr(text, wanted); at; at = strstr(at + 1, wanted))
        found = at;
    return found;
}

/* A line with a tab: `NAME => PATH (0xADDRESS)`, `NAME => not found`, `PATH
 * (0xADDRESS)`. */
static int read_library(struct berth_closure *closure, char *line,
                        struct berth_err *err)
{
    static const char to[] = " => ";
    char *arrow = strstr(line, to);
    char *path = line;
    char *address;

    if (strcmp(line, "statically linked") == 0) {
        closure->is_static = true;
        return 0;
    }
    if (arrow) {
        *arrow = '\0';
        path = arrow + strlen(to);
        if (strcmp(path, "not found") == 0)
            return add_missing(closure, line, err);
    }
    address = find_last(path, " (0x");
    if (!address)
        return berth_err_expected(err, "a line of a loader", line);
    *address = '\0';
    /* linux-vdso.so.1 and linux-gate.so.1 come from the kernel. */
    if (!strchr(path, '/'))
        return 0;
    return add_item(closure, line, path, err);
}

/* `USER: FILE: version `V' not found (required by WHO)` */
static int read_version(struct berth_closure *closure, char *line, char *at,
                        struct berth_err *err)
{
    char *name = strchr(at, '`') + 1;
    char *end = strstr(name, "' not found (required by ");
    char *user = end + strlen("' not found (required by ");
    char *file = strstr(line, ": ");

    *end = '\0';
    *at = '\0';
    user[strcspn(user, ")")] = '\0';
    file = file ? file + strlen(": ") : line;
    berth_strvec_push(&closure->lacks, file);
    berth_strvec_push(&closure->lacks, name);
    berth_strvec_push(&closure->lacks, user);
    return berth_err_oom_if(closure->lacks.failed, err);
}

/* `undefined symbol: NAME<tab>(FILE)`; glibc before 2.30 has for a symbol with a
 * version `symbol NAME not defined in file LIBRARY with link time reference<tab>(FILE)`
 */
static int read_undefined(struct berth_closure *closure, char *name, char *file,
                          struct berth_err *err)
{
    *file = '\0';
    file += 2;
    file[strcspn(file, ")")] = '\0';
    berth_strvec_push_pair(&closure->undefined, name, file);
    return berth_err_oom_if(closure->undefined.failed, err);
}

/* The text in LINE between START and END; NULL: LINE lacks one of them. */
static char *between(char *line, const char *start, const char *end)
{
    char *from = strstr(line, start);
    char *to;

    if (!from)
        return NULL;
    from += strlen(start);
    to = strstr(from, end);
    if (!to)
        return NULL;
    *to = '\0';
    return from;
}

/* The symbol that the sentence LINE calls undefined; NULL: it is another sentence. */
static char *undefined_name(char *line)
{
    char *name = between(line, "undefined symbol: ", "\t(");

    if (name)
        return name;
    return between(line, "symbol ", " not defined in file ");
}

/* The library that LINE, of glibc or of musl, calls missing; NULL: another sentence. */
static char *missing_name(char *line)
{
    char *name = between(line, "error while loading shared libraries: ",
                         ": cannot open shared object file");

    if (name)
        return name;
    return between(line, "Error loading shared library ", ": No such file");
}

/* Does the loader continue after LINE? The library has no versions, or LD_PRELOAD names
 * one that is missing. */
static bool is_harmless(const char *line)
{
    return strstr(line, ": no version information available") ||
           strstr(line, " cannot be preloaded (");
}

static int read_sentence(struct berth_closure *closure, char *line,
                         struct berth_err *err)
{
    char *version = strstr(line, ": version `");
    char *file = strstr(line, "\t(");
    char *name;

    if (version && strstr(version, "' not found (required by "))
        return read_version(closure, line, version, err);
    if (file) {
        name = undefined_name(line);
        if (name)
            return read_undefined(closure, name, file, err);
    }
    if (is_harmless(line))
        return 0;
    name = missing_name(line);
    if (name)
        return add_missing(closure, name, err);
    if (closure->said.count < SAID_MAX)
        berth_strvec_push(&closure->said, line);
    return berth_err_oom_if(closure->said.failed, err);
}

static int read_lines(struct berth_closure *closure, char *text, struct berth_err *err)
{
    while (text) {
        char *line = strsep(&text, "\n");
        int result;

        line[strcspn(line, "\r")] = '\0';
        if (*line == '\0')
            continue;
        if (*line == '\t')
            result = read_library(closure, line + 1, err);
        else
            result = read_sentence(closure, line, err);
        if (result < 0)
            return -1;
    }
    return 0;
}

int berth_closure_parse(const char *text, size_t count,
                        struct berth_closure *ret_closure, struct berth_err *err)
{
    struct berth_closure closure = {0};
    BERTH_FREE char *copy = NULL;

    *ret_closure = closure;
    if (count > TEXT_MAX || memchr(text, '\0', count))
        return berth_err_expected(err, "a loader's list of libraries", text);
    copy = strndup(text, count);
    if (!copy)
        return berth_err_oom(err);
    if (read_lines(&closure, copy, err) < 0) {
        berth_closure_fini(&closure);
        return -1;
    }
    *ret_closure = closure;
    return 0;
}

const struct berth_closure_item *berth_closure_find(const struct berth_closure *closure,
                                                    const char *soname)
{
    for (size_t i = 0; i < closure->count; i++)
        if (strcmp(closure->items[i].soname, soname) == 0)
            return &closure->items[i];
    return NULL;
}

void berth_closure_fini(struct berth_closure *closure)
{
    for (size_t i = 0; i < closure->count; i++) {
        free(closure->items[i].soname);
        free(closure->items[i].path);
    }
    free(closure->items);
    berth_strvec_fini(&closure->lacks);
    berth_strvec_fini(&closure->undefined);
    berth_strvec_fini(&closure->said);
    *closure = (struct berth_closure){0};
}
