/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the lines of plugstack.conf, and the words after the plugin. Opens no file: the
 * caller reads included files. */

#include "site/plugstack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/choice.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text.h"

#define BLANKS " \t\r"

static enum berth_plugstack_kind kind_of(const char *word)
{
    int kind = berth_choice_find("required|optional|include", word);

    if (kind < 0)
        return BERTH_PLUGSTACK_WRONG;
    return (enum berth_plugstack_kind)kind;
}

static bool is_berth(const char *path)
{
    return strcmp(berth_text_base(path), "berth.so") == 0;
}

static void fini(struct berth_plugstack_line *line)
{
    free(line->place);
    free(line->path);
    berth_strvec_fini(&line->words);
}

#define LINE __attribute__((cleanup(fini)))

/* Appends the words of TEXT, which is changed. A # anywhere starts a comment, as in
 * Slurm. */
static void split_line(char *text, struct berth_strvec *words)
{
    text[strcspn(text, "#")] = '\0';
    while (text) {
        const char *word = strsep(&text, BLANKS);

        if (*word)
            berth_strvec_push(words, word);
    }
}

/* Appends the line TEXT at FILE:NUMBER, which is changed. Returns 0, or -1 out of
 * memory. */
static int read_line(const char *file, int number, char *text,
                     struct berth_plugstack *stack)
{
    LINE struct berth_plugstack_line line = {.kind = BERTH_PLUGSTACK_WRONG};
    BERTH_STRVEC struct berth_strvec words = {0};
    size_t first = 0;

    split_line(text, &words);
    if (words.failed)
        return -1;
    if (words.count == 0)
        return 0;
    if (words.count > 1)
        line.kind = kind_of(words.items[0]);
    if (line.kind != BERTH_PLUGSTACK_WRONG) {
        line.path = berth_steal(&words.items[1]);
        line.is_berth = is_berth(line.path);
        first = 2;
    }
    for (size_t i = first; i < words.count; i++)
        berth_strvec_push(&line.words, words.items[i]);
    if (asprintf(&line.place, "%s:%d", file, number) < 0)
        line.place = NULL;
    if (!line.place || line.words.failed)
        return -1;
    return berth_append(stack, &line);
}

int berth_plugstack_read(const char *file, char *text, struct berth_plugstack *ret)
{
    for (int number = 1; text; number++) {
        char *line = strsep(&text, "\n");

        if (read_line(file, number, line, ret) < 0)
            return -1;
    }
    return 0;
}

void berth_plugstack_fini(struct berth_plugstack *stack)
{
    for (size_t i = 0; i < stack->count; i++)
        fini(&stack->items[i]);
    free(stack->items);
    *stack = (struct berth_plugstack){0};
}

#define PLACE "plugstack.conf"

/* Slurm refuses an option with a name of more than 75 letters, and then srun does not
 * run. */
enum { LONGEST_PREFIX = 32 };

/* Returns the rest of TEXT after START; NULL: TEXT does not start with START. */
static const char *after(const char *text, const char *start)
{
    return berth_text_starts(text, start) ? text + strlen(start) : NULL;
}

static int set(char **field, const char *value, struct berth_err *err)
{
    free(*field);
    *field = strdup(value);
    return berth_err_oom_if(!*field, err);
}

static int set_prefix(struct berth_settings *settings, const char *prefix,
                      struct berth_err *err)
{
    size_t right = strspn(prefix, "abcdefghijklmnopqrstuvwxyz0123456789-");

    if (right <= LONGEST_PREFIX && right == strlen(prefix))
        return set(&settings->option_prefix, prefix, err);
    berth_err_expected(err, "at most 32 small letters, digits and -", prefix);
    return berth_err_at(err, PLACE ": option_prefix");
}

static int set_config(struct berth_settings *settings, const char *config,
                      struct berth_err *err)
{
    if (*config == '/')
        return set(&settings->config, config, err);
    berth_err_expected(err, "an absolute path", config);
    return berth_err_at(err, PLACE ": config");
}

static int read_setting(struct berth_settings *settings, const char *text,
                        struct berth_err *err)
{
    const char *prefix = after(text, "option_prefix=");
    const char *config = after(text, "config=");

    if (prefix)
        return set_prefix(settings, prefix, err);
    if (config)
        return set_config(settings, config, err);
    return berth_err_set(err,
                         PLACE ": '%s' is not a setting of berth; expected "
                               "option_prefix= or config= (all else is set in "
                               "berth.yaml)",
                         text);
}

int berth_settings_read(int count, char *const *arguments, struct berth_settings *ret,
                        struct berth_err *err)
{
    int result = 0;

    *ret = (struct berth_settings){.option_prefix = strdup("")};
    if (!ret->option_prefix)
        return berth_err_oom(err);

    /* After an error the rest is read too: srun needs its options by their names. */
    for (int i = 0; i < count; i++) {
        struct berth_err *first = result == 0 ? err : NULL;

        if (read_setting(ret, arguments[i], first) < 0)
            result = -1;
    }
    return result;
}

void berth_settings_fini(struct berth_settings *settings)
{
    free(settings->option_prefix);
    free(settings->config);
    *settings = (struct berth_settings){0};
}
