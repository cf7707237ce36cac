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

    return kind < 0 ? BERTH_PLUGSTACK_WRONG : (enum berth_plugstack_kind)kind;
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

/* Appends the line TEXT at FILE:NUMBER, which is changed. A # anywhere starts a
 * comment, as in Slurm. Returns 0, or -1 out of memory. */
static int read_line(const char *file, int number, char *text,
                     struct berth_plugstack *stack)
{
    LINE struct berth_plugstack_line line = {0};
    BERTH_STRVEC struct berth_strvec words = {0};
    char *word;

    text[strcspn(text, "#")] = '\0';
    while ((word = strsep(&text, BLANKS)))
        if (*word)
            berth_strvec_push(&words, word);
    if (words.failed)
        return -1;
    if (words.count == 0)
        return 0;
    line.kind = words.count > 1 ? kind_of(words.items[0]) : BERTH_PLUGSTACK_WRONG;
    if (line.kind != BERTH_PLUGSTACK_WRONG)
        line.path = berth_steal(&words.items[1]);
    line.is_berth = line.path && is_berth(line.path);
    for (size_t i = line.path ? 2 : 0; i < words.count; i++)
        berth_strvec_push(&line.words, words.items[i]);
    if (asprintf(&line.place, "%s:%d", file, number) < 0)
        line.place = NULL;
    return !line.place || line.words.failed ? -1 : berth_append(stack, &line);
}

int berth_plugstack_read(const char *file, char *text, struct berth_plugstack *ret)
{
    char *line;

    for (int number = 1; (line = strsep(&text, "\n")); number++)
        if (read_line(file, number, line, ret) < 0)
            return -1;
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
    return *field ? 0 : berth_err_oom(err);
}

static int read_word(struct berth_settings *settings, const char *word,
                     struct berth_err *err)
{
    const char *prefix = after(word, "option_prefix=");
    const char *config = after(word, "config=");

    if (prefix && (strlen(prefix) > LONGEST_PREFIX ||
                   prefix[strspn(prefix, "abcdefghijklmnopqrstuvwxyz0123456789-")]))
        return berth_err_expected(err, "at most 32 small letters, digits and -",
                                  prefix),
               berth_err_at(err, PLACE ": option_prefix");
    if (config && *config != '/')
        return berth_err_expected(err, "an absolute path", config),
               berth_err_at(err, PLACE ": config");
    if (prefix)
        return set(&settings->option_prefix, prefix, err);
    if (config)
        return set(&settings->config, config, err);
    return berth_err_set(err,
                         PLACE ": '%s' is not a setting of berth; expected "
                               "option_prefix= or config= (all else is set in "
                               "berth.yaml)",
                         word);
}

int berth_settings_read(int count, char *const *words, struct berth_settings *ret,
                        struct berth_err *err)
{
    int result = 0;

    *ret = (struct berth_settings){.option_prefix = strdup("")};
    if (!ret->option_prefix)
        return berth_err_oom(err);
    for (int i = 0; i < count; i++)
        if (read_word(ret, words[i], result == 0 ? err : NULL) < 0)
            result = -1;
    return result;
}

void berth_settings_fini(struct berth_settings *settings)
{
    free(settings->option_prefix);
    free(settings->config);
    *settings = (struct berth_settings){0};
}
