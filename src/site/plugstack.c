/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the lines of plugstack.conf. Opens no file: the caller reads included files. */

#include "site/plugstack.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text.h"

#define BLANKS " \t\r"

static enum berth_plugstack_kind kind_of(const char *word)
{
    static const char *const names[] = {
        [BERTH_PLUGSTACK_REQUIRED] = "required",
        [BERTH_PLUGSTACK_OPTIONAL] = "optional",
        [BERTH_PLUGSTACK_INCLUDE] = "include",
    };

    for (int kind = 0; kind < BERTH_PLUGSTACK_WRONG; kind++)
        if (strcmp(word, names[kind]) == 0)
            return (enum berth_plugstack_kind)kind;
    return BERTH_PLUGSTACK_WRONG;
}

static bool is_berth(const char *path)
{
    return strcmp(berth_text_base(path), "berth.so") == 0;
}

static void fini(struct berth_plugstack_line *line)
{
    free(line->path);
    berth_strvec_fini(&line->words);
}

/* Appends the line TEXT, which is changed. A # anywhere starts a comment, as in Slurm.
 */
static int add(struct berth_plugstack *stack, char *text, int number,
               struct berth_err *err)
{
    struct berth_plugstack_line line = {.number = number};
    BERTH_STRVEC struct berth_strvec words = {0};
    char *word;

    text[strcspn(text, "#")] = '\0';
    while ((word = strsep(&text, BLANKS)))
        if (*word)
            berth_strvec_push(&words, word);
    if (words.failed)
        return berth_err_oom(err);
    if (words.count == 0)
        return 0;
    line.kind = words.count > 1 ? kind_of(words.items[0]) : BERTH_PLUGSTACK_WRONG;
    if (line.kind != BERTH_PLUGSTACK_WRONG)
        line.path = berth_steal(&words.items[1]);
    line.is_berth = line.path && is_berth(line.path);
    for (size_t i = 2; i < words.count; i++)
        berth_strvec_push(&line.words, words.items[i]);
    if (line.words.failed ||
        berth_grow(&stack->items, stack->count, &stack->room, sizeof(line)) < 0) {
        fini(&line);
        return berth_err_oom(err);
    }
    stack->items[stack->count++] = line;
    return 0;
}

int berth_plugstack_read(const char *text, struct berth_plugstack *ret,
                         struct berth_err *err)
{
    struct berth_plugstack stack = {0};
    BERTH_FREE char *copy = strdup(text);
    char *next = copy;
    char *line;
    int number = 0;

    if (!copy)
        return berth_err_oom(err);
    while ((line = strsep(&next, "\n")))
        if (add(&stack, line, ++number, err) < 0) {
            berth_plugstack_fini(&stack);
            return -1;
        }
    *ret = stack;
    return 0;
}

void berth_plugstack_fini(struct berth_plugstack *stack)
{
    for (size_t i = 0; i < stack->count; i++)
        fini(&stack->items[i]);
    free(stack->items);
    *stack = (struct berth_plugstack){0};
}
