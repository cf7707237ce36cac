/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the requests of the lines of a --multi-prog file, in srun. */

#include "spank/multiproglines.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "request/multiprog.h"
#include "spank/taskfacts.h"
#include "spank/commandline.h"
#include "spank/variable.h"

/* Read and parse the --multi-prog file NAME. Returns 0, and the caller owns *RET
 * (berth_multiprog_fini()); or -1 with a sentence in ERR. */
static int load_file(const char *name, struct berth_multiprog *ret,
                     struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};

    if (berth_fd_read_path(name, BERTH_MULTIPROG_MAX, &text) < 0)
        return berth_err_set(err, "%s", strerror(errno));
    if (text.failed)
        return berth_err_oom(err);
    return berth_multiprog_read(berth_buf_text(&text), ret, err);
}

static int at_file(const char *name, struct berth_err *err)
{
    return berth_err_at(err, "--multi-prog: '%s'", name);
}

const char *berth_lines_file(const struct berth_typed *typed)
{
    size_t end;
    size_t first = berth_hetgroups_command(typed->line, typed->optind, &end);
    bool is_multiprog =
        berth_hetgroups_find_option(typed->line, typed->optind, "multi-prog", NULL);

    if (!is_multiprog || first >= end)
        return NULL;
    return typed->line->argv.items[first];
}

/* Warn of options of ours after the program of LINE. */
static void warn(const struct berth_rows *rows, const struct berth_multiprog_line *line)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    struct berth_err sentence;

    if (berth_multiprog_command(line, berth_multiprog_first(rows->file, line),
                                rows->reading.prefix, &words, NULL) < 0 ||
        words.count == 0 ||
        !berth_mistake_on_line(words.items, rows->reading.prefix, &sentence))
        return;
    berth_err_at(&sentence, "line %u", line->number);
    at_file(rows->name, &sentence);
    berth_commandline_warn(rows->reading.prefix, &sentence);
}

int berth_lines_read(const struct berth_typed *typed,
                     const struct berth_request *defaults, struct berth_table *table,
                     int (*check)(struct berth_request *request, unsigned long tasks,
                                  struct berth_err *err),
                     struct berth_err *err)
{
    BERTH_MULTIPROG struct berth_multiprog file = {0};
    BERTH_FREE char *directory = getcwd(NULL, 0);
    const struct berth_rows rows = {
        .name = berth_lines_file(typed),
        .file = &file,
        .reading = {.prefix = typed->prefix, .base = directory, .defaults = defaults},
        .check = check};

    if (load_file(rows.name, &file, err) < 0)
        return at_file(rows.name, err);
    if (berth_rows_read(&rows, table, err) < 0)
        return -1;
    for (size_t i = 0; i < file.count; i++)
        warn(&rows, &file.items[i]);
    return 0;
}

static bool is_file(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Does the beginning of the file PATH contain TEXT? */
static bool contains(const char *path, const char *text)
{
    enum { BEGINNING = 1 << 20 }; /* bytes; such a file may be long */
    BERTH_BUF struct berth_buf file = {0};

    if (!is_file(path) || berth_fd_read_path(path, BEGINNING, &file) < 0)
        return false;
    return strstr(berth_buf_text(&file), text);
}

bool berth_lines_mention(const struct berth_hetgroups *line, const char *text)
{
    struct berth_arguments arguments = berth_hetgroups_all(line);
    struct berth_argument argument;
    bool is_multiprog = false;

    while (berth_arguments_next(&arguments, &argument)) {
        if (berth_argument_is(&argument, "multi-prog"))
            is_multiprog = true;
        if (!argument.command)
            continue;
        if (is_multiprog && contains(*argument.command, text))
            return true;
        is_multiprog = false; /* of the next component */
    }
    return false;
}

/* srun has read the file into argv[1], sends that text, and never frees it. */
int berth_lines_prefix(spank_t sp, struct berth_err *err)
{
    char *text = NULL;
    int argc;
    char **argv = berth_taskfacts_argv(sp, &argc);

    if (argc < 2)
        return berth_err_set(err, BERTH_VARIABLE_UNANSWERED,
                             "the --multi-prog configuration");
    if (berth_multiprog_prefix(argv[1], &text, err) < 0)
        return -1;
    argv[1] = text;
    return 0;
}
