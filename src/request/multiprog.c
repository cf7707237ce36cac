/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the text of a --multi-prog file: lines, words, options. Adds its lines to a
 * table, and lists the programs that share a container. Reads no file. */

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
#include "request/option.h"
#include "request/ranks.h"

/* Between words. */
#define BLANKS " \t\r\v\f"

/* Moves *AT past a line and the lines that continue it, and adds their number to
 * *NUMBER. Returns their length. */
static size_t next_lines(const char **at, unsigned int *number)
{
    const char *start = *at;
    bool is_more = true;

    while (is_more && **at) {
        size_t length = strcspn(*at, "\n");

        /* Slurm drops empty lines first. */
        is_more = length == 0 ? *at > start : (*at)[length - 1] == '\\';
        *at += length + ((*at)[length] == '\n');
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
    __attribute__((cleanup(free_line))) struct berth_multiprog_line line = {.number =
                                                                                number};
    BERTH_FREE char *copy = strndup(text, length);
    char *ranks = copy ? copy + strspn(copy, "\n" BLANKS) : NULL;
    size_t end = ranks ? strcspn(ranks, "\n" BLANKS) : 0;

    if (!copy)
        return berth_err_oom(err);
    if (*ranks == '#' || *ranks == '\0')
        return 0;
    line.ranks = strndup(ranks, end);
    line.text = strdup(ranks + end);
    if (!line.ranks || !line.text)
        return berth_err_oom(err);
    if (berth_ranks_check(line.ranks, err) < 0)
        return berth_err_at(err, "line %u", number);
    return berth_append(file, &line) < 0 ? berth_err_oom(err) : 0;
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

    while (*text == '#' || *text == '\n') {
        text = strchrnul(text, '\n');
        text += *text == '\n';
    }
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

/* The word that is read. */
struct word {
    struct berth_buf text;
    bool is_begun;
};

static void add_letters(struct word *word, const char *letters, size_t count)
{
    berth_buf_add(&word->text, letters, count);
    word->is_begun = true;
}

static void end_word(struct word *word, struct berth_strvec *ret)
{
    if (word->is_begun)
        berth_strvec_push(ret, word->text.text ? word->text.text : "");
    ret->failed |= word->text.failed;
    berth_buf_fini(&word->text);
    *word = (struct word){0};
}

/* Adds the number for %t or %o; AT is after the percent sign. Slurm drops any other
 * letter. Returns the text after the letter. */
static const char *add_number(struct word *word, const char *at, unsigned int rank,
                              unsigned int offset)
{
    char number[16];

    snprintf(number, sizeof(number), "%u", *at == 't' ? rank : offset);
    add_letters(word, number, *at == 't' || *at == 'o' ? strlen(number) : 0);
    return *at ? at + 1 : at;
}

/* Adds the letter at AT, which is after a backslash. At the end of a line Slurm begins
 * a word, which is empty if the next line begins with a blank. Returns the text after
 * it. */
static const char *add_protected(struct word *word, const char *at)
{
    if (*at == '\n') {
        word->is_begun = true;
        return at + strspn(at, "\n");
    }
    add_letters(word, at, *at != '\0');
    return *at ? at + 1 : at;
}

/* Appends the words at AT to RET. *RET_PERCENT (may be NULL) is the index of the first
 * word with a percent sign that nothing protects; SIZE_MAX: there is none. */
static int read_words(const char *at, unsigned int rank, unsigned int offset,
                      struct berth_strvec *ret, size_t *ret_percent,
                      struct berth_err *err)
{
    struct word word = {0};
    size_t percent = SIZE_MAX;

    at += strspn(at, BLANKS);
    while (*at && *at != '\n') {
        size_t plain = strcspn(at, "\\%'\n" BLANKS);

        if (plain > 0)
            add_letters(&word, at, plain);
        at += plain;
        if (*at == '%') {
            percent = percent == SIZE_MAX ? ret->count : percent;
            at = add_number(&word, at + 1, rank, offset);
        } else if (*at == '\\') {
            at = add_protected(&word, at + 1);
        } else if (*at == '\'') {
            plain = strcspn(++at, "'");
            if (!at[plain]) {
                berth_buf_fini(&word.text);
                return berth_err_set(err,
                                     "a single quote is not closed; write another one");
            }
            add_letters(&word, at, plain);
            at += plain + 1;
        } else if (*at != '\n') {
            end_word(&word, ret);
            at += strspn(at, BLANKS);
        }
    }
    end_word(&word, ret);
    if (ret_percent)
        *ret_percent = percent;
    return ret->failed ? berth_err_oom(err) : 0;
}

int berth_multiprog_words(const struct berth_multiprog_line *line, unsigned int rank,
                          struct berth_strvec *ret, struct berth_err *err)
{
    unsigned int offset = 0;

    berth_ranks_has(line->ranks, rank, &offset);
    return read_words(line->text, rank, offset, ret, NULL, err);
}

/* Refuses NAME, an unknown option without dashes and prefix, which the user wrote as
 * WORD. */
static int refuse_name(const char *name, const char *word, struct berth_err *err)
{
    if (berth_pyxis_check_name(name, err) < 0)
        return -1;
    return berth_suggest_option(word, berth_option_near(name, strlen(name) / 4),
                                "a program, or options for its image; options of Slurm "
                                "go to srun",
                                err);
}

/* Parses the option at WORDS into RET (NULL: only checks its form). Returns the number
 * of its words, or -1. */
static int parse_option(char *const *words, const char *prefix, const char *base,
                        struct berth_request *ret, struct berth_err *err)
{
    size_t length = strcspn(*words, "=");
    BERTH_FREE char *word = strndup(*words, length);
    const char *name = word ? word + strspn(word, "-") : "";
    const char *value = (*words)[length] ? *words + length + 1 : NULL;
    enum berth_option_id id;
    int used = 1;

    if (!word)
        return berth_err_oom(err);
    if (berth_text_starts(name, prefix))
        name += strlen(prefix);
    id = berth_text_starts(word, "--") ? berth_option_find(name) : BERTH_OPTION_COUNT;
    if (id == BERTH_OPTION_COUNT)
        return refuse_name(name, word, err);
    if (id == BERTH_OPTION_EXPLAIN)
        return berth_err_set(err, "--%s: it is for the whole step; give it to srun",
                             name);
    if (value && !berth_options[id].argument)
        return berth_err_set(err, "'--%s' takes no value", name);
    if (!value && berth_options[id].argument &&
        !berth_option_is_optional(&berth_options[id])) {
        value = words[1];
        used += value != NULL;
    }
    if (ret && berth_request_parse(ret, id, value, base, err) < 0)
        return berth_err_at(err, "--%s", name);
    return used;
}

/* Parses the options at the beginning of WORDS into RET (NULL: only counts them), and
 * skips the empty words of continued lines with leading blanks. Returns the number of
 * words, or -1. */
static int parse_options(char *const *words, const char *prefix, const char *base,
                         struct berth_request *ret, struct berth_err *err)
{
    int count = 0;

    while (words[count] && (*words[count] == '-' || *words[count] == '\0')) {
        int used =
            *words[count] ? parse_option(words + count, prefix, base, ret, err) : 1;

        if (used < 0)
            return -1;
        count += used;
    }
    return count;
}

int berth_multiprog_options(char *const *words, const char *prefix,
                            struct berth_err *err)
{
    return parse_options(words, prefix, NULL, NULL, err);
}

/* Options of the command line apply only to lines with an image. */
static int merge(const struct berth_request *defaults, const struct berth_request *own,
                 struct berth_request *ret, struct berth_err *err)
{
    if (berth_request_merge(ret, defaults, err) < 0 ||
        berth_request_merge(ret, own, err) < 0 ||
        (berth_request_has_options(own) && berth_request_check(ret, err) < 0))
        return -1;
    if (!berth_request_has_container(ret))
        berth_request_fini(ret);
    return 0;
}

int berth_multiprog_request(const struct berth_multiprog_line *line,
                            const struct berth_multiprog_reading *reading,
                            struct berth_request *ret, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_REQUEST struct berth_request own = {0};
    BERTH_REQUEST struct berth_request merged = {0};
    size_t percent;
    int count;

    if (read_words(line->text, 0, 0, &words, &percent, err) < 0)
        return -1;
    count = words.count == 0
                ? 0
                : parse_options(words.items, reading->prefix, reading->base, &own, err);
    if (count > 0 && percent < (size_t)count)
        return berth_err_set(err,
                             "a percent sign in an option: all ranks of a line have "
                             "the same options; write a line for each rank, or a "
                             "backslash before the sign");
    if (count < 0 || merge(reading->defaults, &own, &merged, err) < 0)
        return -1;
    if ((size_t)count == words.count && merged.entrypoint != BERTH_YES)
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
    BERTH_STRVEC struct berth_strvec words = {0};
    size_t start;
    int count = 0;

    if (berth_multiprog_words(line, rank, &words, err) < 0)
        return -1;
    start = words.count > 0 && strcmp(words.items[0], BERTH_TASK_PROGRAM) == 0;
    if (words.count > start)
        count = berth_multiprog_options(words.items + start, prefix, err);
    if (count < 0)
        return -1;
    for (size_t i = start + (size_t)count; i < words.count; i++)
        berth_strvec_push(ret, words.items[i]);
    return ret->failed ? berth_err_oom(err) : 0;
}

int berth_multiprog_program(const struct berth_multiprog_line *line, unsigned int rank,
                            const char *prefix, char **ret, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec words = {0};

    if (berth_multiprog_command(line, rank, prefix, &words, err) < 0)
        return -1;
    *ret = strdup(words.count > 0 ? words.items[0] : "");
    return *ret ? 0 : berth_err_oom(err);
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
    unsigned long tasks =
        berth_ranks_is_rest(line->ranks) ? 0 : berth_ranks_measure(line->ranks).count;
    BERTH_REQUEST struct berth_request request = {0};
    bool is_alone;

    if (berth_multiprog_request(line, &rows->reading, &request, err) < 0 ||
        rows->check(&request, tasks, err) < 0)
        return -1;
    is_alone = berth_request_is_explained(rows->reading.defaults) ||
               berth_request_starts_mpirun(&request);
    return is_alone
               ? berth_table_add(table, BERTH_GROUP_ALL, line->ranks, &request, err)
               : berth_table_add_line(table, line->ranks, &request, err);
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
