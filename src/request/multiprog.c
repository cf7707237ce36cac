/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the text of a --multi-prog file: lines, arguments, options. Adds its lines to
 * a table, and lists the programs that share a container. Reads no file. */

#include "request/multiprog.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/suggest.h"
#include "base/text.h"
#include "request/arguments.h"
#include "request/option.h"
#include "request/ranks.h"

/* Between arguments. */
#define BLANKS " \t\r\v\f"

/* Moves *AT past a line and the lines that continue it, and adds their number to
 * *NUMBER. Returns their length. */
static size_t next_lines(const char **at, unsigned int *number)
{
    const char *start = *at;
    bool is_more = true;

    while (is_more && **at) {
        const char *line = *at;
        const char *end = strchrnul(line, '\n');

        if (end == line)
            is_more = line > start; /* Slurm drops empty lines first */
        else
            is_more = end[-1] == '\\';
        *at = berth_text_next_line(line);
        ++*number;
    }
    return (size_t)(*at - start);
}

static void free_line(struct berth_multiprog_line *line)
{
    free(line->ranks);
    free(line->text);
}

/* Adds the line of LENGTH bytes at TEXT, which begins in line NUMBER. */
static int read_line(const char *text, size_t length, unsigned int number,
                     struct berth_multiprog *file, struct berth_err *err)
{
    __attribute__((cleanup(free_line))) struct berth_multiprog_line line = {
        .number = number,
    };
    BERTH_FREE char *copy = strndup(text, length);
    const char *ranks;
    size_t end;

    if (!copy)
        return berth_err_oom(err);
    ranks = copy + strspn(copy, "\n" BLANKS);
    if (*ranks == '#' || *ranks == '\0')
        return 0;

    end = strcspn(ranks, "\n" BLANKS);
    line.ranks = strndup(ranks, end);
    line.text = strdup(ranks + end);
    if (!line.ranks || !line.text)
        return berth_err_oom(err);
    if (berth_ranks_check(line.ranks, err) < 0)
        return berth_err_at(err, "line %u", number);
    return berth_err_oom_if(berth_append(file, &line) < 0, err);
}

int berth_multiprog_read(const char *text, struct berth_multiprog *ret,
                         struct berth_err *err)
{
    BERTH_MULTIPROG struct berth_multiprog file = {0};
    unsigned int number = 1;

    while (*text) {
        const char *start = text;
        unsigned int first = number;
        size_t length = next_lines(&text, &number);

        if (read_line(start, length, first, &file, err) < 0)
            return -1;
    }
    *ret = berth_steal(&file);
    return 0;
}

bool berth_multiprog_begins(const char *text)
{
    size_t ranks;

    while (*text == '#' || *text == '\n')
        text = berth_text_next_line(text);
    if (!isdigit((unsigned char)*text))
        return false;
    ranks = strspn(text, "0123456789-,");
    return text[ranks] == ' ' || text[ranks] == '\t';
}

void berth_multiprog_fini(struct berth_multiprog *file)
{
    for (size_t i = 0; i < file->count; i++)
        free_line(&file->items[i]);
    free(file->items);
    *file = (struct berth_multiprog){0};
}

/* The argument that is read. */
struct argument {
    struct berth_buf text;
    bool is_begun; /* it may be empty */
};

static void add_letters(struct argument *argument, const char *letters, size_t count)
{
    berth_buf_add(&argument->text, letters, count);
    argument->is_begun = true;
}

static void end_argument(struct argument *argument, struct berth_strvec *ret)
{
    if (argument->is_begun)
        berth_strvec_push(ret, berth_buf_text(&argument->text));
    ret->failed |= argument->text.failed;
    berth_buf_fini(&argument->text);
    *argument = (struct argument){0};
}

/* Adds the number for %t or %o; AT is after the percent sign. Slurm drops any other
 * letter. Returns the text after the letter. */
static const char *add_number(struct argument *argument, const char *at,
                              unsigned int rank, unsigned int offset)
{
    char number[16] = "";

    if (*at == 't')
        snprintf(number, sizeof(number), "%u", rank);
    else if (*at == 'o')
        snprintf(number, sizeof(number), "%u", offset);
    add_letters(argument, number, strlen(number));
    if (*at == '\0')
        return at;
    return at + 1;
}

/* Adds the letter at AT, which is after a backslash. At the end of a line Slurm begins
 * an argument, which is empty if the next line begins with a blank. Returns the text
 * after it. */
static const char *add_protected(struct argument *argument, const char *at)
{
    if (*at == '\n') {
        argument->is_begun = true;
        return at + strspn(at, "\n");
    }
    if (*at == '\0') {
        argument->is_begun = true;
        return at;
    }
    add_letters(argument, at, 1);
    return at + 1;
}

/* Adds what is between single quotes; AT is after the first one. Returns the text after
 * the second one; NULL: there is none. */
static const char *add_quoted(struct argument *argument, const char *at)
{
    size_t length = strcspn(at, "'");

    if (!at[length])
        return NULL;
    add_letters(argument, at, length);
    return at + length + 1;
}

/* Adds letters that mean themselves. Returns the text after them. */
static const char *add_plain(struct argument *argument, const char *at)
{
    size_t length = strcspn(at, "\\%'\n" BLANKS);

    if (length > 0)
        add_letters(argument, at, length);
    return at + length;
}

/* Appends the arguments at AT to RET. *RET_PERCENT (may be NULL) is the index of the
 * first one with a percent sign that nothing protects; SIZE_MAX: there is none. */
static int read_arguments(const char *at, unsigned int rank, unsigned int offset,
                          struct berth_strvec *ret, size_t *ret_percent,
                          struct berth_err *err)
{
    struct argument argument = {0};
    size_t percent = SIZE_MAX;

    at += strspn(at, BLANKS);
    while (at && *at && *at != '\n') {
        at = add_plain(&argument, at);
        if (*at == '%') {
            if (percent == SIZE_MAX)
                percent = ret->count;
            at = add_number(&argument, at + 1, rank, offset);
        } else if (*at == '\\') {
            at = add_protected(&argument, at + 1);
        } else if (*at == '\'') {
            at = add_quoted(&argument, at + 1);
        } else if (*at != '\n') {
            end_argument(&argument, ret);
            at += strspn(at, BLANKS);
        }
    }
    end_argument(&argument, ret);
    if (!at)
        return berth_err_set(err, "a single quote is not closed; write another one");
    if (ret_percent)
        *ret_percent = percent;
    return berth_err_oom_if(ret->failed, err);
}

int berth_multiprog_arguments(const struct berth_multiprog_line *line,
                              unsigned int rank, struct berth_strvec *ret,
                              struct berth_err *err)
{
    unsigned int offset = 0;

    berth_ranks_has(line->ranks, rank, &offset);
    return read_arguments(line->text, rank, offset, ret, NULL, err);
}

/* Refuses TEXT, which names no option of ours. */
static int refuse_option(const char *text, const char *prefix, struct berth_err *err)
{
    BERTH_FREE char *option = strndup(text, strcspn(text, "="));
    const char *name;

    if (!option)
        return berth_err_oom(err);
    name = option + strspn(option, "-");
    if (berth_text_starts(name, prefix))
        name += strlen(prefix);
    if (berth_pyxis_check_name(name, err) < 0)
        return -1;
    return berth_suggest_option(option, berth_option_near(name, strlen(name) / 4),
                                "a program, or options for its image; options of Slurm "
                                "go to srun",
                                err);
}

/* The option that TEXT, --NAME or --NAME=VALUE, names in full, with PREFIX or without;
 * BERTH_OPTION_COUNT: none. */
static enum berth_option_id find_option(const char *text, const char *prefix)
{
    const struct berth_option *option = berth_argument_find_ours(text, prefix);

    if (!option)
        option = berth_argument_find_ours(text, "");
    if (!option || option - berth_options >= BERTH_OPTION_COUNT)
        return BERTH_OPTION_COUNT;
    return (enum berth_option_id)(option - berth_options);
}

/* Parses the option at ARGV into RET (NULL: only checks its form). Returns the number
 * of its arguments, or -1. */
static int parse_option(char *const *argv, const char *prefix, const char *base,
                        struct berth_request *ret, struct berth_err *err)
{
    enum berth_option_id id = find_option(argv[0], prefix);
    const char *value = berth_text_after(argv[0], '=');
    const struct berth_option *option;
    bool needs_value;
    int used = 1;

    if (id == BERTH_OPTION_COUNT)
        return refuse_option(argv[0], prefix, err);
    option = &berth_options[id];
    if (id == BERTH_OPTION_EXPLAIN)
        return berth_err_set(err, "--%s: it is for the whole step; give it to srun",
                             option->name);
    if (value && !option->argument)
        return berth_err_set(err, "'--%s' takes no value", option->name);

    needs_value = option->argument && !berth_option_is_optional(option);
    if (!value && needs_value && argv[1]) {
        value = argv[1];
        used = 2;
    }
    if (ret && berth_request_parse(ret, id, value, base, err) < 0)
        return berth_err_at(err, "--%s", option->name);
    return used;
}

/* Parses the options at the beginning of ARGV into RET (NULL: only counts them), and
 * skips the empty arguments of continued lines with leading blanks. Returns the number
 * of arguments, or -1. */
static int parse_options(char *const *argv, const char *prefix, const char *base,
                         struct berth_request *ret, struct berth_err *err)
{
    int count = 0;

    while (argv[count] && (*argv[count] == '-' || *argv[count] == '\0')) {
        int used = 1;

        if (*argv[count])
            used = parse_option(argv + count, prefix, base, ret, err);
        if (used < 0)
            return -1;
        count += used;
    }
    return count;
}

int berth_multiprog_options(char *const *argv, const char *prefix,
                            struct berth_err *err)
{
    return parse_options(argv, prefix, NULL, NULL, err);
}

/* Options of the command line, DEFAULTS, apply only to lines with an image. */
static int merge(const struct berth_request *defaults, const struct berth_request *line,
                 struct berth_request *ret, struct berth_err *err)
{
    if (berth_request_merge(ret, defaults, err) < 0 ||
        berth_request_merge(ret, line, err) < 0)
        return -1;
    if (berth_request_has_options(line) && berth_request_check(ret, err) < 0)
        return -1;
    if (!berth_request_has_container(ret))
        berth_request_fini(ret);
    return 0;
}

int berth_multiprog_request(const struct berth_multiprog_line *line,
                            const struct berth_multiprog_reading *reading,
                            struct berth_request *ret, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec argv = {0};
    BERTH_REQUEST struct berth_request asked = {0};
    BERTH_REQUEST struct berth_request merged = {0};
    size_t percent;
    int options = 0;

    if (read_arguments(line->text, 0, 0, &argv, &percent, err) < 0)
        return -1;
    if (argv.count > 0)
        options =
            parse_options(argv.items, reading->prefix, reading->base, &asked, err);
    if (options < 0)
        return -1;
    if (percent < (size_t)options)
        return berth_err_set(err,
                             "a percent sign in an option: all ranks of a line have "
                             "the same options; write a line for each rank, or a "
                             "backslash before the sign");

    if (merge(reading->defaults, &asked, &merged, err) < 0)
        return -1;
    if ((size_t)options == argv.count && merged.entrypoint != BERTH_YES)
        return berth_err_set(err,
                             "no program; write one after the ranks and the options");
    *ret = berth_steal(&merged);
    return 0;
}

unsigned int berth_multiprog_first(const struct berth_multiprog *file,
                                   const struct berth_multiprog_line *line)
{
    unsigned int rank = 0;
    unsigned int before;

    if (!berth_ranks_is_rest(line->ranks))
        return berth_ranks_measure(line->ranks).first;
    do {
        before = rank;
        for (size_t i = 0; i < file->count; i++)
            if (!berth_ranks_is_rest(file->items[i].ranks))
                rank = berth_ranks_next_free(file->items[i].ranks, rank);
    } while (rank != before);
    return rank;
}

int berth_multiprog_command(const struct berth_multiprog_line *line, unsigned int rank,
                            const char *prefix, struct berth_strvec *ret,
                            struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec argv = {0};
    size_t start = 0;
    int options = 0;

    if (berth_multiprog_arguments(line, rank, &argv, err) < 0)
        return -1;
    if (argv.count > 0 && strcmp(argv.items[0], BERTH_TASK_PROGRAM) == 0)
        start = 1;
    if (argv.count > start)
        options = berth_multiprog_options(argv.items + start, prefix, err);
    if (options < 0)
        return -1;

    for (size_t i = start + (size_t)options; i < argv.count; i++)
        berth_strvec_push(ret, argv.items[i]);
    return berth_err_oom_if(ret->failed, err);
}

int berth_multiprog_program(const struct berth_multiprog_line *line, unsigned int rank,
                            const char *prefix, char **ret, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec command = {0};
    const char *program = "";

    if (berth_multiprog_command(line, rank, prefix, &command, err) < 0)
        return -1;
    if (command.count > 0)
        program = command.items[0];
    *ret = strdup(program);
    return berth_err_oom_if(!*ret, err);
}

static void put_line(struct berth_buf *buf, const char *line, size_t length)
{
    size_t at = strspn(line, "\n" BLANKS);

    if (at < length && line[at] != '#') {
        at += strcspn(line + at, "\n" BLANKS);
        berth_buf_add(buf, line, at);
        berth_buf_puts(buf, " " BERTH_TASK_PROGRAM);
        line += at;
        length -= at;
    }
    berth_buf_add(buf, line, length);
}

int berth_multiprog_prefix(const char *text, char **ret_text, struct berth_err *err)
{
    BERTH_BUF struct berth_buf buf = {0};
    unsigned int number = 1;

    berth_buf_puts(&buf, "");
    while (*text) {
        const char *start = text;

        put_line(&buf, start, next_lines(&text, &number));
    }
    if (buf.failed)
        return berth_err_oom(err);
    *ret_text = berth_steal(&buf.text);
    return 0;
}

/* Lines with equal requests share a row, unless the step explains each line, or the
 * line starts an mpirun, which is for one task. */
static int add_row(const struct berth_rows *rows,
                   const struct berth_multiprog_line *line, struct berth_table *table,
                   struct berth_err *err)
{
    BERTH_REQUEST struct berth_request request = {0};
    unsigned long tasks = 0; /* of the rest of the ranks it is not known */

    if (!berth_ranks_is_rest(line->ranks))
        tasks = berth_ranks_measure(line->ranks).count;
    if (berth_multiprog_request(line, &rows->reading, &request, err) < 0 ||
        rows->check(&request, tasks, err) < 0)
        return -1;

    if (berth_request_is_explained(rows->reading.defaults) ||
        berth_request_starts_mpirun(&request))
        return berth_table_add(table, BERTH_GROUP_ALL, line->ranks, &request, err);
    return berth_table_add_line(table, line->ranks, &request, err);
}

int berth_rows_read(const struct berth_rows *rows, struct berth_table *table,
                    struct berth_err *err)
{
    const struct berth_multiprog *file = rows->file;

    for (size_t i = 0; i < file->count; i++) {
        const struct berth_multiprog_line *line = &file->items[i];

        if (add_row(rows, line, table, err) < 0)
            return berth_err_at(err, "--multi-prog: '%s': line %u", rows->name,
                                line->number);
        if (berth_ranks_is_rest(line->ranks))
            break; /* no rank is left for a later line */
    }
    return 0;
}

/* Appends the program of LINE if its first rank runs in the container of PART. */
static int add_program(const struct berth_multiprog *file,
                       const struct berth_multiprog_line *line,
                       const struct berth_rows_part *part, struct berth_strvec *ret,
                       struct berth_err *err)
{
    const struct berth_where anywhere = {-1, -1};
    const unsigned int rank = berth_multiprog_first(file, line);
    BERTH_FREE char *program = NULL;
    const struct berth_row *row;

    if (berth_table_find(part->table, &anywhere, rank, &row, NULL) < 0 ||
        row->container != part->row->container)
        return 0;
    if (berth_multiprog_program(line, rank, part->prefix, &program, err) < 0)
        return berth_err_at(err, "line %u", line->number);
    berth_strvec_push_once(ret, program);
    return 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int berth_rows_programs(const struct berth_multiprog *file,
                        const struct berth_rows_part *part,
                        const struct berth_request *request, struct berth_strvec *ret,
                        struct berth_err *err)
{
    if (!berth_request_looks_inside(request) || request->entrypoint == BERTH_YES)
        return 0;
    for (size_t i = 0; i < file->count; i++)
        if (add_program(file, &file->items[i], part, ret, err) < 0)
            return -1;
    if (ret->failed)
        return berth_err_oom(err);
    if (ret->count < 2)
        berth_strvec_fini(ret);
    else
        qsort(ret->items, ret->count, sizeof(*ret->items), compare);
    return 0;
}
